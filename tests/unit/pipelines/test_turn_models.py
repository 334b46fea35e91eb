from types import SimpleNamespace

from pipelines.data.recognition import PhraseHint
from pipelines.models.contracts import INTENT_SLOT
from pipelines.session.turn_models import ModelsByTurn

HINTS = {None: (PhraseHint("latte"),), "pizza": (PhraseHint("margherita"),)}


class Models:
    def get(self, role: str, variant: str | None = None) -> SimpleNamespace:
        assert role == INTENT_SLOT
        return SimpleNamespace(hints=HINTS[variant])


def test_hints_are_those_of_the_chosen_variant():
    assert ModelsByTurn(Models(), {}, "").hints == HINTS[None]
    assert ModelsByTurn(Models(), {INTENT_SLOT: "pizza"}, "").hints == HINTS["pizza"]


class Turns(Models):
    def begin_turn(self, variants: dict[str, str]) -> SimpleNamespace:
        return SimpleNamespace(variants=variants, release=lambda: None)


def test_a_choice_holds_from_the_next_turn_on():
    models = ModelsByTurn(Turns(), {"asr": "german"}, "de")
    assert models.of(1).variants == {"asr": "german"}
    models.choose({}, "")
    assert (models.of(1).variants, models.language(1)) == ({"asr": "german"}, "de")
    assert (models.of(2).variants, models.language(2)) == ({}, "")
    models.keep({2})
    assert models.of(2).variants == {}
