"""What `make image-check` takes from the Dockerfile; the building itself needs root and minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.config import load_config
from service.triton.served_models import DEFAULT_MODEL_REPOSITORY
from tests.unit.deploy.paths import DEPLOY
from tools.image.builder import SUITES, Builder, Image
from tools.image.dockerfile import DockerfileError, Step, copied, environment, health_command, is_ignored, parse
from tools.image.trial import TrialError, check_log

PROJECT = DEPLOY.parent
STAGES = parse((PROJECT / "Dockerfile").read_text())


def test_our_dockerfile_is_read_to_its_end():
    build, image = STAGES
    assert (build.name, image.name) == ("build", "")
    assert {build.base, image.base} <= SUITES.keys()
    assert [step.name for step in image.steps][-1] == "ENTRYPOINT"
    (installs,) = [step.text for step in build.steps if step.name == "RUN" and "pip install" in step.text]
    assert "\\" not in installs
    assert ".[serve,telemetry,redis,postgres,mcp,webrtc]" in installs


def test_what_it_copies_is_there_and_in_the_context():
    ignored = (PROJECT / ".dockerignore").read_text().split()
    for step in STAGES[0].steps:
        if step.name == "COPY":
            for source in copied(step)[1]:
                assert (PROJECT / source).exists()
                assert not is_ignored(source, ignored)
    for built in ("asr/1/moonshine-tiny-en", "end_of_turn/1/smart-turn", "embed/1/minilm", "speaker/1/resemblyzer"):
        assert is_ignored(f"{DEFAULT_MODEL_REPOSITORY.name}/{built}/model.onnx", ignored), "the image builds it itself"


def test_the_service_takes_the_flags_of_its_entry_point():
    entry = next(step for step in STAGES[-1].steps if step.name == "ENTRYPOINT").words()
    assert entry[:2] == ["vivavoce", "serve"]
    flags = dict(zip(entry[2::2], entry[3::2], strict=True))
    given = {flag.removeprefix("--").replace("-", "_"): value for flag, value in flags.items()}
    config = load_config(given, {"VIVAVOCE_INSECURE": "true"})
    assert config.model_repository == Path("/srv/model_repository")
    health = next(step for step in STAGES[-1].steps if step.name == "HEALTHCHECK")
    assert health_command(health)[:3] == ["python", "-m", "service.grpc_server.probe"]


def test_steps_are_read_as_docker_reads_them():
    text = "FROM a AS b\n# no step\nRUN one \\\n    # no step either\n    && two\nENV A=$B:1 C='x y'\nFROM c\nUSER 5\n"
    first, second = parse(text)
    assert [(step.name, step.text) for step in first.steps] == [("RUN", "one && two"), ("ENV", "A=$B:1 C='x y'")]
    assert environment(first.steps[1], {"B": "b"}) == {"A": "b:1", "B": "b", "C": "x y"}
    assert second.steps == [Step("USER", "5")]
    assert Step("CMD", '["a", "b c"]').words() == Step("CMD", "a 'b c'").words() == ["a", "b c"]
    assert copied(Step("COPY", "--from=b /x /y")) == ("b", ["/x"], "/y")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FROM a\nADD x y\n", "ADD: this program knows"),
        ("RUN x\n", "comes before the first FROM"),
        ("FROM a as b as c\n", "write FROM IMAGE"),
        ("FROM nobody/knows\n", "add it to SUITES"),
        ("FROM python:3.11-slim-bookworm\nCOPY --chown=1 a b\n", "COPY --chown"),
    ],
)
def test_what_it_cannot_carry_out_is_told(text: str, said: str, tmp_path: Path):
    (tmp_path / "base-bookworm" / "bin").mkdir(parents=True)
    (tmp_path / "base-bookworm" / "etc" / "ssl" / "certs").mkdir(parents=True)
    with pytest.raises(DockerfileError, match=said):
        Builder(tmp_path, tmp_path).build(parse(text))


def test_copies_and_folders_are_those_of_docker(tmp_path: Path):
    context, work = tmp_path / "context", tmp_path / "work"
    (context / "code" / "__pycache__").mkdir(parents=True)
    (context / "code" / "a.py").write_text("a")
    (context / "one").write_text("1")
    (context / ".dockerignore").write_text("**/__pycache__\n")
    (work / "base-bookworm" / "bin").mkdir(parents=True)
    (work / "base-bookworm" / "etc" / "ssl" / "certs").mkdir(parents=True)
    base = "python:3.11-slim-bookworm"
    steps = f"FROM {base} AS b\nWORKDIR /src\nCOPY one ./\nCOPY code here\nFROM {base}\nCOPY --from=b /src /srv/all\n"
    image = Builder(context, work).build(parse(steps))
    files = {str(path.relative_to(image.root)) for path in (image.root / "srv").rglob("*") if path.is_file()}
    assert files == {"srv/all/one", "srv/all/here/a.py"}


def test_the_user_of_an_image_has_the_group_that_it_gave_him(tmp_path: Path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\nvivavoce:x:10001:999::/:/bin/sh\n")
    assert Image(tmp_path, user="10001").identity() == Image(tmp_path, user="vivavoce").identity() == (10001, 999)
    assert Image(tmp_path, user="7").identity() == (7, 0)


def test_warnings_of_the_service_fail_the_trial_but_the_one_that_containers_bring():
    fine = "12:00 INFO    serving\n12:01 WARNING other accounts: the system allows no mount namespace (no)\n"
    check_log(fine)
    with pytest.raises(TrialError, match="terminate called"):
        check_log(fine + "12:02 WARNING vivavoce.triton  terminate called\n")
