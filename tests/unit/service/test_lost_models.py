"""What the supervisor does about models whose processes are lost, in virtual time."""

import asyncio
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest

from service.triton import supervisor
from service.triton.process_look import Ailment
from service.triton.supervisor import TritonSupervisor
from tests import virtual_time
from tests.unit.service.test_supervisor import ASR_IS_STOPPED, Hanging


class Losing(Hanging):
    """Has lost the processes of models, as the kernel tells or as a look does."""

    def __init__(self, ended: str | None = None, verdict: Ailment | None = None) -> None:
        super().__init__(verdict)
        self._ended = ended

    async def lost_model(self) -> str:
        ended, self._ended = self._ended, None
        return ended or await super().lost_model()

    async def ailing(self, _: object, *, are_loaded: bool = True) -> Ailment | None:
        verdict, self._verdict = self._verdict, None
        return verdict


@pytest.mark.parametrize("lost", [{"ended": "asr"}, {"verdict": ASR_IS_STOPPED}])
@pytest.mark.parametrize("can_mend", [True, False])
def test_a_model_is_mended_and_triton_started_again_only_where_that_is_not_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: dict[str, object], can_mend: bool
):
    async def main() -> None:
        started: list[Losing] = []
        mended: list[str] = []

        async def start(*_: object, **__: object) -> Losing:
            started.append(Losing() if started else Losing(**lost))
            return started[-1]

        def mend(model: str) -> bool:
            mended.append(model)
            return can_mend

        monkeypatch.setattr(supervisor.TritonProcess, "start", start)
        kept = TritonSupervisor(tmp_path, Mock())
        running = asyncio.create_task(kept.run(lambda: ["asr"], AsyncMock(return_value=True), lambda: True, mend))
        await asyncio.sleep(15)
        assert mended == ["asr"]
        assert len(started) == kept.starts == (1 if can_mend else 2)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    virtual_time.run(main())


def test_the_end_of_a_model_that_is_not_in_service_is_nobodys_business(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def main() -> None:
        monkeypatch.setattr(supervisor.TritonProcess, "start", AsyncMock(return_value=Losing(ended="qa.2")))
        kept = TritonSupervisor(tmp_path, Mock())
        mend = Mock(return_value=False)
        running = asyncio.create_task(kept.run(lambda: ["asr"], AsyncMock(return_value=True), lambda: True, mend))
        await asyncio.sleep(15)
        assert kept.starts == 1
        mend.assert_not_called()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    virtual_time.run(main())


def test_a_model_that_ends_before_the_service_is_ready_is_left_to_triton(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def main() -> None:
        monkeypatch.setattr(supervisor.TritonProcess, "start", AsyncMock(return_value=Losing(ended="asr")))
        kept = TritonSupervisor(tmp_path, Mock())
        mend = Mock(return_value=True)
        running = asyncio.create_task(kept.run(lambda: ["asr"], AsyncMock(return_value=True), lambda: False, mend))
        await asyncio.sleep(15)
        assert kept.starts == 1
        mend.assert_not_called()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    virtual_time.run(main())
