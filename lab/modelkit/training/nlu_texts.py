"""What an epoch of training intents and slots shows: fresh variants of every utterance, and texts without labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modelkit.augment import speech_like
from modelkit.neighbours import WordNeighbours
from modelkit.nlu import Utterance
from modelkit.sound_alikes import SoundAlikes
from modelkit.substitution import collect_values, substitute_values

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping

    from modelkit.networks import IntentSlotNetwork
    from modelkit.training.nlu_data import NluData
    from modelkit.training.nlu_recipe import NluRecipe

_MAX_OF_FILES = 0.25
"""Share of the texts without labels that comes from files; the others are utterances with other words."""


class Augmenter:
    """Makes variants of utterances: other values in the slots, words misheard, written as a recognizer writes.

    Args:
        data: whose values are put in.
        recipe: how much of each.
        vocabulary: has the words that others are taken for.
    """

    def __init__(self, data: NluData, recipe: NluRecipe, vocabulary: Iterable[str]) -> None:
        self._values = collect_values(data.training, {**data.lookups, **data.slot_values})
        self._alikes = SoundAlikes(vocabulary)
        self._recipe = recipe

    def vary(self, utterance: Utterance, rng: random.Random) -> Utterance:
        """Makes one variant."""
        utterance = substitute_values(utterance, self._values, self._recipe.substitution, rng)
        return speech_like(self._alikes.mishear(utterance, self._recipe.mishearing, rng), rng)


class EpochTexts:
    """Draws what an epoch shows.

    Args:
        data: what is trained on.
        recipe: how much of each kind.
        augmenter: makes the variants.
        neighbours: of words, for texts without labels; None leaves those out.
    """

    def __init__(
        self, data: NluData, recipe: NluRecipe, augmenter: Augmenter, neighbours: WordNeighbours | None = None
    ) -> None:
        self._data, self._recipe, self._augmenter, self._neighbours = data, recipe, augmenter, neighbours

    def labelled(self, rng: random.Random) -> list[Utterance]:
        """Varies all utterances, and draws outliers, which have no intent."""
        outliers = self._data.outliers
        chosen = rng.sample(outliers, min(self._recipe.outliers_per_epoch, len(outliers)))
        shown = [*self._data.training * self._recipe.copies, *(Utterance(text, "", ()) for text in chosen)]
        return [self._augmenter.vary(utterance, rng) for utterance in shown]

    def unlabelled(self, rng: random.Random) -> list[str]:
        """Draws texts that only teachers label: some from files, the others variants of utterances with other words."""
        if self._neighbours is None:
            return []
        count, given = self._recipe.unlabelled_per_epoch, self._data.unlabelled
        texts = rng.sample(given, min(len(given), round(_MAX_OF_FILES * count)))
        utterances = rng.choices(self._data.training, k=count - len(texts))
        varied = (self._augmenter.vary(utterance, rng).text for utterance in utterances)
        return texts + [self._neighbours.perturb(text, self._recipe.perturbation, rng) for text in varied]


def word_neighbours(network: IntentSlotNetwork, vocabulary: Mapping[str, int]) -> WordNeighbours:
    """Finds neighbours among the word embeddings of a network with that vocabulary."""
    table = network.encoder.embeddings.word_embeddings.weight.detach().float().cpu().numpy()
    return WordNeighbours(vocabulary, table)
