from types import SimpleNamespace

from pipelines.models.contracts import INTENT_SLOT
from pipelines.models.ports import PhraseHint
from pipelines.session.turn_models import ModelsByTurn

HINTS = {None: (PhraseHint("latte"),), "pizza": (PhraseHint("margherita"),)}


class Models:
    def get(self, role: str, variant: str | None = None) -> SimpleNamespace:
        assert role == INTENT_SLOT
        return SimpleNamespace(hints=HINTS[variant])


def test_hints_are_those_of_the_chosen_variant():
    assert ModelsByTurn(Models(), {}).hints == HINTS[None]
    assert ModelsByTurn(Models(), {INTENT_SLOT: "pizza"}).hints == HINTS["pizza"]
