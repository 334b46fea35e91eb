"""Builds an image's root folder from a Dockerfile: RUN steps in a chroot, on Debian from debootstrap."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tools.image.dockerfile import DockerfileError, Stage, Step, copied, environment, is_ignored

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SUITES = {"python:3.11-slim-bookworm": "bookworm"}
"""Debian's releases that stand for base images: they have the same Python, though not the same build of it."""
_PACKAGES = "ca-certificates,python3,python3-venv,python3-dev,libpython3.11,tzdata,netbase"
_FROM_THIS_MACHINE = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt")
_PASSED_ON = (
    "PIP_",
    "UV_",
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)


def call(*command: str | Path) -> None:
    """Run a program of this machine.

    Raises:
        CalledProcessError: it failed.
    """
    subprocess.run([str(word) for word in command], check=True)


@dataclass
class Image:
    """What a stage has become.

    Attributes:
        root: its files.
        variables: its environment.
        folder: its working folder.
        user: the user of its program, by number or name.
        last: the last step of each kind that says how it is run.
    """

    root: Path
    variables: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    folder: str = "/"
    user: str = "root"
    last: dict[str, Step] = field(default_factory=dict)

    def identity(self) -> tuple[int, int]:
        """Return the numbers of its user and that user's group, as its own /etc/passwd has them."""
        for line in (self.root / "etc" / "passwd").read_text(encoding="utf-8").splitlines():
            name, _, user, group, *_ = line.split(":")
            if self.user in {name, user}:
                return int(user), int(group)
        return int(self.user), 0


class Builder:
    """Carries stages out.

    Args:
        context: the folder that COPY copies from.
        work: where the roots are made.
    """

    def __init__(self, context: Path, work: Path) -> None:
        self._context, self._work = context, work
        ignored = context / ".dockerignore"
        self._ignored = ignored.read_text(encoding="utf-8").split() if ignored.is_file() else []
        self._images: dict[str, Image] = {}

    def build(self, stages: list[Stage]) -> Image:
        """Carry all stages out; return the last one's image."""
        for stage in stages:
            image = Image(self._work / (stage.name or "image"))
            self._begin(stage.base, image.root)
            for step in stage.steps:
                print(f"{stage.name or 'image'}: {step.name} {step.text[:100]}", flush=True)
                self._carry_out(step, image)
            self._images[stage.name] = image
        return self._images[stages[-1].name]

    def _begin(self, base: str, root: Path) -> None:
        """Make the root of a base image."""
        suite = SUITES.get(base)
        if suite is None:
            raise DockerfileError(f"FROM {base}: add it to SUITES with the release of Debian that stands for it")
        plain = self._work / f"base-{suite}"
        if not (plain / "bin").exists():
            call("debootstrap", "--variant=minbase", f"--include={_PACKAGES}", suite, plain)
            # As the images have it.
            (plain / "usr" / "local" / "bin" / "python").symlink_to("/usr/bin/python3")
        shutil.rmtree(root, ignore_errors=True)
        call("cp", "--archive", "--reflink=auto", plain, root)
        for path in _FROM_THIS_MACHINE:
            if Path(path).exists():
                shutil.copy(path, root / path[1:])

    def _carry_out(self, step: Step, image: Image) -> None:
        match step.name:
            case "RUN":
                self._run(step, image)
            case "COPY":
                self._copy(step, image)
            case "WORKDIR":
                image.folder = step.text
                (image.root / step.text[1:]).mkdir(parents=True, exist_ok=True)
            case "ENV":
                image.variables = environment(step, image.variables)
            case "USER":
                image.user = step.text
            case _:
                image.last[step.name] = step

    def _run(self, step: Step, image: Image) -> None:
        """Run a shell line in the root, with this machine's sources of packages."""
        passed = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}
        variables = [f"{name}={value}" for name, value in {**passed, **image.variables, "HOME": "/root"}.items()]
        user, group = image.identity()
        inside = ["chroot", f"--userspec={user}:{group}", str(image.root), "/usr/bin/env", "-i", *variables]
        line = f"cd {image.folder} && {step.text}"
        mounts = f'mount -t proc proc "{image.root}/proc" && exec "$@"'
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", mounts, "sh"]
        call(*command, *inside, "/bin/sh", "-c", line)

    def _copy(self, step: Step, image: Image) -> None:
        origin, sources, destination = copied(step)
        start = self._images[origin].root if origin else self._context
        target = image.root / str(Path(image.folder, destination))[1:]
        into_folder = destination.endswith("/") or len(sources) > 1
        for source in sources:
            found = start / source.lstrip("/")
            if found.is_dir():
                skip = None if origin else self._skipped
                shutil.copytree(found, target, symlinks=True, dirs_exist_ok=True, ignore=skip)
            else:
                place = target / found.name if into_folder else target
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(found, place)

    def _skipped(self, folder: str, names: list[str]) -> list[str]:
        """Return the names that .dockerignore keeps out."""
        inside = Path(folder).relative_to(self._context)
        return [name for name in names if is_ignored(str(inside / name), self._ignored)]
