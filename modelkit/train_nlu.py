"""Fine-tunes the intent and slot engine on labelled utterances.

``python -m modelkit.train_nlu --base DIR --out DIR --train FILE --outliers FILE… --outlier-utterances FILE`` writes the
network's weights, its labels with the calibrated temperature and threshold, and a model card; ``modelkit.export``
makes them a Triton model. Training can be interrupted: it goes on after the last finished epoch in ``--out``.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from engines.bert.intent_decoding import NO_INTENT, IntentDecoder, IntentLabels
from engines.bert.tokenizing import NO_OFFSET, UtteranceTokenizer
from modelkit.augment import outlier_texts, speech_like
from modelkit.calibration import choose_temperature, choose_threshold
from modelkit.cards import BASE, name_data, write_card
from modelkit.networks import IntentSlotNetwork, load_encoder
from modelkit.nlu import Utterance, collect_labels, read_utterances
from modelkit.scoring import intent_accuracy, slot_f1
from modelkit.squad import read_squad

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

IGNORED = -100
"""Target of what the loss leaves out: tokens that begin no word, and the tags of outliers."""
OUTLIER = -1
"""Intent of an utterance that no intent covers."""
OUTLIER_INTENTS = ("RateBook", "BookRestaurant", "SearchCreativeWork")
"""Snips intents without a counterpart among the home assistant's; SearchScreeningEvent asks what
recommendation_movies asks, so it is no outlier."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What training does, all of it: two runs of one recipe on one machine give the same weights."""

    epochs: int = 10
    rows: int = 32
    learning_rate: float = 2e-4
    head_learning_rate: float = 1e-3
    warmup: float = 0.1
    dropout: float = 0.1
    label_smoothing: float = 0.05
    outliers_per_epoch: int = 2400
    outlier_weight: float = 2.0
    validation: int = 700
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Row:
    """A training row: token ids, the intent's index (or :data:`OUTLIER`) and one tag or :data:`IGNORED` a token."""

    input_ids: npt.NDArray[np.int64]
    intent: int
    tags: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Logits:
    """Outputs of the network over a set; ``tags`` is padded to the longest row."""

    offsets: npt.NDArray[np.int64]
    intents: npt.NDArray[np.float32]
    tags: npt.NDArray[np.float32]


def make_rows(utterances: Sequence[Utterance], labels: IntentLabels, tokenizer: UtteranceTokenizer) -> list[Row]:
    """Tokenizes utterances and places their labels; an intent that is no label makes an outlier."""
    intents = {name: index for index, name in enumerate(labels.intents)}
    tags = {name: index for index, name in enumerate(labels.tags)}
    batch = tokenizer.encode([utterance.text for utterance in utterances])
    rows = []
    for row, utterance in enumerate(utterances):
        length = int(batch.attention_mask[row].sum())
        intent = intents.get(utterance.intent, OUTLIER)
        targets = _tag_targets(utterance, batch.offsets[row, :length], tags)
        if intent == OUTLIER:
            targets[:] = IGNORED
        rows.append(Row(batch.input_ids[row, :length], intent, targets))
    return rows


def _tag_targets(utterance: Utterance, offsets: npt.NDArray[np.int64], tags: dict[str, int]) -> npt.NDArray[np.int64]:
    targets = np.where(offsets[:, 0] == NO_OFFSET, IGNORED, 0)
    for slot in utterance.slots:
        inside = np.flatnonzero((offsets[:, 0] < slot.end) & (offsets[:, 1] > slot.start))
        targets[inside] = tags.get(f"I-{slot.name}", 0)
        targets[inside[:1]] = tags.get(f"B-{slot.name}", 0)
    return targets


def collate(group: Sequence[Row]) -> tuple[torch.Tensor, ...]:
    """Pads a batch: ids, mask, tags ``[rows, tokens]`` and intents ``[rows]``, all int64."""
    width = max(len(row.input_ids) for row in group)
    ids, mask = (np.zeros((len(group), width), np.int64) for _ in range(2))
    tags = np.full((len(group), width), IGNORED, np.int64)
    for index, row in enumerate(group):
        length = len(row.input_ids)
        ids[index, :length], mask[index, :length], tags[index, :length] = row.input_ids, 1, row.tags
    intents = np.array([row.intent for row in group], np.int64)
    return tuple(torch.from_numpy(a) for a in (ids, mask, tags, intents))


def joint_loss(network: IntentSlotNetwork, group: Sequence[Row], recipe: Recipe) -> torch.Tensor:
    """Cross-entropy of intent and tags, and on outliers the distance of the intent from uniform.

    The last is outlier exposure, "Deep Anomaly Detection with Outlier Exposure" (Hendrycks et al., 2019), section 4.
    """
    ids, mask, tags, intents = collate(group)
    intent_logits, tag_logits = network(ids, mask)
    inside = intents != OUTLIER
    total = tag_logits.sum() * 0.0
    if inside.any():
        total = total + functional.cross_entropy(
            intent_logits[inside], intents[inside], label_smoothing=recipe.label_smoothing
        )
        total = total + functional.cross_entropy(tag_logits.flatten(0, 1), tags.flatten(), ignore_index=IGNORED)
    if not inside.all():
        outside = -functional.log_softmax(intent_logits[~inside], dim=-1).mean()
        total = total + recipe.outlier_weight * outside * (~inside).float().mean()
    return total


def epoch_batches(rows: Sequence[Row], recipe: Recipe, rng: random.Random) -> list[list[Row]]:
    """Groups rows of like length, in random order."""
    ordered = sorted(rows, key=lambda row: (len(row.input_ids) // 3, rng.random()))
    groups = [ordered[first : first + recipe.rows] for first in range(0, len(ordered), recipe.rows)]
    rng.shuffle(groups)
    return groups


class Trainer:
    """Trains a network epoch by epoch, every epoch on a fresh augmentation and fresh outliers."""

    def __init__(
        self,
        network: IntentSlotNetwork,
        utterances: Sequence[Utterance],
        outliers: Sequence[str],
        labels: IntentLabels,
        tokenizer: UtteranceTokenizer,
        recipe: Recipe,
    ) -> None:
        self.network, self.recipe = network, recipe
        self._utterances, self._outliers = utterances, outliers
        self._labels, self._tokenizer = labels, tokenizer
        network.encoder.embeddings.word_embeddings.weight.requires_grad_(False)
        encoder = [p for p in network.encoder.parameters() if p.requires_grad]
        heads = [*network.intent.parameters(), *network.tag.parameters()]
        groups = [{"params": encoder}, {"params": heads, "lr": recipe.head_learning_rate}]
        self._parameters = [*encoder, *heads]
        self._optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, weight_decay=0.01, fused=True)
        total = recipe.epochs * -(-(len(utterances) + recipe.outliers_per_epoch) // recipe.rows)
        warmup = max(1, int(recipe.warmup * total))
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda s: min((s + 1) / warmup, max(0.0, (total - s) / (total - warmup)))
        )

    def run_epoch(self, epoch: int) -> float:
        """Trains for one epoch; returns the mean loss."""
        rng = random.Random(self.recipe.seed * 1000 + epoch)
        torch.manual_seed(self.recipe.seed * 1000 + epoch)
        chosen = rng.sample(self._outliers, min(self.recipe.outliers_per_epoch, len(self._outliers)))
        texts = [*self._utterances, *(Utterance(text, "", ()) for text in chosen)]
        rows = make_rows([speech_like(utterance, rng) for utterance in texts], self._labels, self._tokenizer)
        self.network.train()
        losses = [self._step(group) for group in epoch_batches(rows, self.recipe, rng)]
        return float(np.mean(losses))

    def _step(self, group: Sequence[Row]) -> float:
        loss = joint_loss(self.network, group, self.recipe)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._optimizer.step()
        self._schedule.step()
        self._optimizer.zero_grad()
        return loss.item()

    def save(self, path: Path, epoch: int) -> None:
        """Writes everything that :meth:`load` needs to go on after ``epoch``."""
        state = {name: part.state_dict() for name, part in self._parts().items()}
        torch.save({**state, "epoch": epoch}, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)

    def load(self, path: Path) -> int:
        """Restores a checkpoint; returns the epoch to go on with."""
        state = torch.load(path, weights_only=True)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        return int(state["epoch"]) + 1

    def _parts(self) -> dict[str, IntentSlotNetwork | torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler]:
        return {"network": self.network, "optimizer": self._optimizer, "schedule": self._schedule}


def predict(network: IntentSlotNetwork, texts: Sequence[str], tokenizer: UtteranceTokenizer) -> Logits:
    """Runs the network over ``texts`` without training it."""
    network.eval()
    batch = tokenizer.encode(texts)
    intents, tags = [], []
    with torch.no_grad():
        for first in range(0, len(batch), 64):
            part = slice(first, first + 64)
            ids, mask = torch.from_numpy(batch.input_ids[part]), torch.from_numpy(batch.attention_mask[part])
            intent_logits, tag_logits = network(ids, mask)
            intents.append(intent_logits.numpy())
            tags.append(tag_logits.numpy())
    return Logits(batch.offsets, np.concatenate(intents), np.concatenate(tags))


def score(logits: Logits, utterances: Sequence[Utterance], labels: IntentLabels) -> dict[str, float]:
    """Intent accuracy and slot F1 of decoded logits."""
    texts = [utterance.text for utterance in utterances]
    got = IntentDecoder(labels).decode(texts, logits.offsets, logits.intents, logits.tags)
    f1 = slot_f1([u.slots for u in utterances], [g.slots for g in got]).f1
    return {"intent_accuracy": round(intent_accuracy(utterances, got), 4), "slot_f1": round(f1, 4)}


def split_outliers(arguments: argparse.Namespace, seed: int) -> tuple[list[str], dict[str, list[str]]]:
    """Returns outliers to train with, and by kind the ones kept back for validation, a tenth of each."""
    rng = random.Random(seed)
    kinds: dict[str, list[str]] = {}
    for path in arguments.outliers:
        kinds[path.stem] = outlier_texts(read_squad(path), rng)
    for utterance in read_utterances(arguments.outlier_utterances):
        if utterance.intent in OUTLIER_INTENTS:
            kinds.setdefault(utterance.intent, []).append(utterance.text.strip())
    train: list[str] = []
    held_out: dict[str, list[str]] = {}
    for kind, texts in kinds.items():
        rng.shuffle(texts)
        keep = min(300, len(texts) // 10)
        held_out[kind] = texts[:keep]
        train += rng.sample(texts[keep:], min(4000, len(texts) - keep))
    return train, held_out


def calibrate(
    network: IntentSlotNetwork,
    labels: IntentLabels,
    validation: Sequence[Utterance],
    held_out: dict[str, list[str]],
    tokenizer: UtteranceTokenizer,
) -> tuple[IntentLabels, dict[str, float | dict[str, float]]]:
    """Chooses temperature and threshold on the validation set, and scores it."""
    inside = predict(network, [utterance.text for utterance in validation], tokenizer)
    truth = np.array([labels.intents.index(utterance.intent) for utterance in validation])
    temperature = choose_temperature(inside.intents, truth)
    threshold = choose_threshold(inside.intents / temperature, truth, allowed_loss=0.01)
    calibrated = IntentLabels(labels.intents, labels.tags, round(temperature, 4), round(threshold, 4))
    rejected = {}
    for kind, texts in held_out.items():
        logits = predict(network, texts, tokenizer)
        got = IntentDecoder(calibrated).decode(texts, logits.offsets, logits.intents, logits.tags)
        rejected[kind] = round(float(np.mean([understanding.intent == NO_INTENT for understanding in got])), 4)
    report = {"forced": score(inside, validation, labels), "with_none": score(inside, validation, calibrated)}
    return calibrated, {**report, "outliers_rejected": rejected}


def main() -> None:
    """Trains from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--train", type=Path, required=True, help="labelled utterances, a JSON object a line")
    parser.add_argument("--outliers", type=Path, nargs="+", required=True, help="SQuAD files to take outliers from")
    parser.add_argument("--outlier-utterances", type=Path, required=True, help="the Snips utterances")
    parser.add_argument("--base", type=Path, required=True, help="Hugging Face directory of the BERT to start from")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=Recipe().epochs)
    arguments = parser.parse_args()
    recipe = Recipe(epochs=arguments.epochs)
    arguments.out.mkdir(parents=True, exist_ok=True)

    utterances = read_utterances(arguments.train)
    labels = IntentLabels(*collect_labels(utterances))
    random.Random(recipe.seed).shuffle(utterances)
    validation, training = utterances[: recipe.validation], utterances[recipe.validation :]
    outliers, held_out = split_outliers(arguments, recipe.seed)
    print(f"{len(training)} utterances, {len(validation)} for validation, {len(outliers)} outliers", flush=True)
    tokenizer = UtteranceTokenizer(arguments.base / "tokenizer.json")
    torch.manual_seed(recipe.seed)
    network = IntentSlotNetwork(load_encoder(arguments.base, recipe.dropout), len(labels.intents), len(labels.tags))
    trainer = Trainer(network, training, outliers, labels, tokenizer, recipe)
    checkpoint = arguments.out / "checkpoint.pt"
    for epoch in range(trainer.load(checkpoint) if checkpoint.exists() else 0, recipe.epochs):
        began = time.monotonic()
        loss = trainer.run_epoch(epoch)
        trainer.save(checkpoint, epoch)
        logits = predict(network, [utterance.text for utterance in validation], tokenizer)
        scores = score(logits, validation, labels)
        print(f"epoch {epoch + 1}: loss {loss:.3f}, {scores}, {time.monotonic() - began:.0f} s", flush=True)

    calibrated, report = calibrate(network, labels, validation, held_out, tokenizer)
    print(json.dumps(report))
    torch.save(network.state_dict(), arguments.out / "network.pt")
    (arguments.out / "labels.json").write_text(json.dumps(asdict(calibrated), indent=1) + "\n", encoding="utf-8")
    data = name_data((arguments.train, *arguments.outliers, arguments.outlier_utterances))
    card = {"task": "joint intent and slots", "base": BASE, "data": data}
    write_card(arguments.out / "card.json", card | {"recipe": asdict(recipe), "validation": report})


if __name__ == "__main__":
    main()
