"""When a Triton that ends by itself is started again, in virtual time."""

from pathlib import Path

import pytest

from service.triton import supervisor
from service.triton.supervisor import TritonGaveUpError, TritonSupervisor
from tests import virtual_time


class Ending:
    """Ends at once, complaining."""

    complaints = "out of memory"

    async def wait(self) -> int:
        return 1

    async def stop(self) -> None:
        pass


@pytest.mark.parametrize(
    ("served", "starts", "message"), [(False, 1, "could not start"), (True, 6, "ended 6 times in a row")]
)
def test_who_has_served_is_started_again_a_few_times(
    served: bool, starts: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def main() -> None:
        started = 0

        async def start(*_: object) -> Ending:
            nonlocal started
            started += 1
            return Ending()

        async def on_lost() -> bool:
            return served and started == 1

        monkeypatch.setattr(supervisor.TritonProcess, "start", start)
        with pytest.raises(TritonGaveUpError, match=rf"{message}(.|\n)*out of memory"):
            await TritonSupervisor(tmp_path).run(tuple, on_lost)
        assert started == starts

    virtual_time.run(main())
