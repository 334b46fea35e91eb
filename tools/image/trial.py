"""Runs an image as an orchestrator does: as its user, without rights, its root read-only, its network its own."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tools.image.dockerfile import health_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.image.builder import Image

RECORDING = Path(__file__).resolve().parents[2] / "demo" / "recordings" / "lights.flac"
_START_SECONDS, _STOP_SECONDS = 120.0, 60.0
_SHARED_MEMORY = "512m"


class TrialError(RuntimeError):
    """The image does not do what it shall."""


class Trial:
    """A container, but for the container engine.

    Args:
        image: what is run.
        process: the program that has made its namespaces.
    """

    def __init__(self, image: Image, process: subprocess.Popen[bytes]) -> None:
        self._image, self.process = image, process

    def first_process(self) -> int:
        """Return the number of the image's first process, as this machine has it."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="utf-8")
        if not children.split():
            raise TrialError(f"the image ended at once, with status {self.process.wait()}")
        return int(children.split()[0])

    def is_healthy(self) -> bool:
        """Ask as the image's HEALTHCHECK does, inside of it."""
        command = health_command(self._image.last["HEALTHCHECK"])
        return self._inside(*_as_user(self._image, command)).returncode == 0

    def wait_until_healthy(self) -> float:
        """Return after how many seconds it was.

        Raises:
            TrialError: it was not.
        """
        began = time.monotonic()
        while not self.is_healthy():
            if time.monotonic() - began > _START_SECONDS or self.process.poll() is not None:
                raise TrialError("the image did not become healthy")
            time.sleep(1.0)
        return time.monotonic() - began

    def converse(self, intent: str) -> str:
        """Speak a recording to it, from beside it, with this checkout's client; return the reply's intent.

        Raises:
            TrialError: there is not one reply, or its intent is not ``intent``.
        """
        client = [sys.executable, "-m", "vivavoce", "converse", str(RECORDING), "--server", "localhost:50051", "--json"]
        said = self._beside(*client)
        if said.returncode:
            raise TrialError(f"the conversation failed: {said.stderr.decode()}")
        events = [json.loads(line) for line in said.stdout.splitlines()]
        intents = [(event["intent"] or {}).get("name") for event in events if event["event"] == "reply"]
        if intents != [intent]:
            raise TrialError(f"one reply should come, with the intent {intent}, but there came {intents}")
        return intent

    def stop(self) -> None:
        """Stop it as an orchestrator does.

        Raises:
            TrialError: its exit status is not 0.
        """
        subprocess.run(["kill", "-TERM", str(self.first_process())], check=True)
        status = self.process.wait(_STOP_SECONDS)
        if status:
            raise TrialError(f"it ended with status {status}")

    def _inside(self, *command: str) -> subprocess.CompletedProcess[bytes]:
        """Run a program in all of its namespaces, below its root."""
        target = ["nsenter", f"--target={self.first_process()}", "--mount", "--pid", "--net", "--root", "--wd=/"]
        return subprocess.run([*target, *command], check=False, capture_output=True)

    def _beside(self, *command: str) -> subprocess.CompletedProcess[bytes]:
        """Run a program of this machine in its network."""
        target = ["nsenter", f"--target={self.first_process()}", "--net"]
        return subprocess.run([*target, *command], check=False, capture_output=True)


def check_log(text: str) -> None:
    """Raise TrialError if the log has a warning but that of the missing namespace, which containers do not allow."""
    warnings = [line for line in text.splitlines() if re.search(r" (WARNING|ERROR) ", line)]
    if unexpected := [line for line in warnings if "the system allows no mount namespace" not in line]:
        raise TrialError(f"it warned: {unexpected[0]}")


@contextlib.contextmanager
def running(image: Image, arguments: Sequence[str], variables: dict[str, str], log: IO[bytes]) -> Iterator[Trial]:
    """Run an image until the body ends.

    Args:
        image: what is run.
        arguments: they take the place of its CMD.
        variables: environment beside that of the image.
        log: takes what it says.
    """
    root = image.root
    mounts = (
        f'mount --bind "{root}" "{root}"; mount -o remount,ro,bind "{root}"; mount -t proc proc "{root}/proc"; '
        f'mount -t tmpfs -o mode=1777 tmpfs "{root}/tmp"; '
        f'mount -t tmpfs -o mode=1777,size={_SHARED_MEMORY} tmpfs "{root}/dev/shm"; '
        f'{sys.executable} -c "$1"; shift; exec "$@"'
    )
    namespaces = ["unshare", "--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "sh", "-ec", mounts, "sh"]
    command = image.last["ENTRYPOINT"].words() + list(arguments)
    inside = ["chroot", str(root), *_as_user(image, command, variables)]
    process = subprocess.Popen([*namespaces, _LOOPBACK_UP, *inside], stdout=log, stderr=log)
    try:
        time.sleep(1.0)
        yield Trial(image, process)
    finally:
        process.kill()
        process.wait()


_LOOPBACK_UP = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh', b'lo', 0x41))"
"""Brings the loopback of a new network up (SIOCSIFFLAGS, IFF_UP and IFF_RUNNING)."""


def _as_user(image: Image, command: Sequence[str], variables: dict[str, str] | None = None) -> list[str]:
    """Return the command line that runs ``command`` as the image's user, who may do nothing else."""
    user, group = image.identity()
    rights = [f"--reuid={user}", f"--regid={group}", "--clear-groups", "--bounding-set=-all", "--no-new-privs"]
    shown = [f"{name}={value}" for name, value in {**image.variables, **(variables or {})}.items()]
    return ["/usr/bin/setpriv", *rights, "/usr/bin/env", "-i", *shown, *command]
