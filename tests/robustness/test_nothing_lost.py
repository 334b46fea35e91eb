"""Processes that end or hang in the middle of an utterance: all words are heard, and it is answered once and whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest

import vivavoce
from demo.manifest import utterances
from service.processes.child_process import SERVE, listening
from tests.integration.triton_processes import family, run_folder, tritonserver
from tests.robustness.kills import TRITON, process_of, say_when_let_in, until_it_answers

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

PATIENCE_SECONDS = 20.0


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], str]]:
    log = tmp_path_factory.mktemp("service") / "log"
    with listening([*SERVE, "--max-conversations", "8"], log) as running:
        yield running


@pytest.mark.parametrize(
    ("whose", "how", "at", "keeps_triton"),
    [
        ("asr", "kill", 0.5, True),
        ("asr", "kill", 0.9, True),
        ("qa_bert", "kill", 0.9, True),
        ("intent_slot_tokenize", "kill", 0.7, True),
        ("intent_slot_bert", "kill", 0.9, True),
        ("intent_slot_bert", "stop", 0.9, True),
        ("asr", "stop", 0.2, True),
        (TRITON, "kill", 0.5, False),
    ],
)
async def test_an_utterance_is_heard_and_answered_whole(
    service: tuple[subprocess.Popen[str], str], whose: str, how: str, at: float, keeps_triton: bool
):
    process, address = service
    (utterance,) = (one for one in utterances() if one.path.stem == "moon_rocks")
    async with vivavoce.connect(address) as client:
        await until_it_answers(client)
        server = tritonserver(process)
        reference = await say_when_let_in(client, utterance, None, how, at)
        assert reference.statuses == ("COMPLETE",)
        victim = process_of(process.pid, whose)
        heard = await say_when_let_in(client, utterance, victim, how, at)
        assert heard.is_whole(reference), heard
        assert heard.late_seconds is not None
        assert heard.late_seconds < PATIENCE_SECONDS
        await until_it_answers(client)
        assert not victim.is_running() or victim.status() == "zombie"
        assert (tritonserver(process).pid == server.pid) is keeps_triton
        again = await say_when_let_in(client, utterance, None, how, at)
        assert again.is_whole(reference), again
        if again.notices:
            # All words were recognized before the process ended, so that the model was missed by this utterance alone.
            again = await say_when_let_in(client, utterance, None, how, at)
            assert again.is_whole(reference), again
        assert again.notices == ()


def test_a_service_that_is_killed_takes_its_triton_with_it(service: tuple[subprocess.Popen[str], str]):
    """The last one of this file: it kills the service that the others share."""
    process, _ = service
    children, folder = family(process), run_folder(process)
    process.kill()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []
    assert not folder.exists()
