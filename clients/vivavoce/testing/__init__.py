"""A service without models, for the tests of programs that use Vivavoce.

    import vivavoce
    from vivavoce.testing import Turn, serving


    def test_the_lamp_goes_on() -> None:
        turn = Turn("turn on the light", intent=vivavoce.Intent("lights_on", 0.9))
        with serving(turn) as service, vivavoce.sync.connect(service.address) as client:
            assert my_program(client) == "on"
        assert service.texts() == []

It listens on a real socket of this machine, so that a program needs nothing but its address.
"""

from vivavoce.testing._service import FakeService, Speaks, serving
from vivavoce.testing._turns import Answers, Script, Turn, answering, failing, scripted

__all__ = ["Answers", "FakeService", "Script", "Speaks", "Turn", "answering", "failing", "scripted", "serving"]
