"""Fine-tunes the question answering engine on SQuAD files.

``python -m modelkit.train_qa --base DIR --out DIR FILE…`` writes the network's weights, its tokenizer and a
model card; ``modelkit.build`` turns them into a Triton model. Training can be interrupted: it goes on from the
last checkpoint in ``--out``.
"""

from __future__ import annotations

import argparse
import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from engines.bert.tokenizing import NO_OFFSET, DocumentTokenizer
from modelkit.cards import BASE, name_data, write_card
from modelkit.networks import SpanNetwork, load_encoder
from modelkit.squad import Question, read_squad

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Window:
    """One training row: token ids, and the token span to find; ``(0, 0)`` means that the answer is not here."""

    input_ids: npt.NDArray[np.int64]
    token_type_ids: npt.NDArray[np.int64]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """What training does, all of it: two runs of one recipe on one machine give the same weights."""

    epochs: float = 1.0
    batch_tokens: int = 2048
    learning_rate: float = 1.2e-4
    warmup: float = 0.06
    wrong_paragraph: float = 0.2
    window: int = 192
    overlap: int = 48
    seed: int = 7


def make_windows(questions: Sequence[Question], tokenizer: DocumentTokenizer, recipe: Recipe) -> list[Window]:
    """Cuts questions into windows, and puts a share of them to a paragraph of another question.

    Of the windows that do not hold the answer of their question one in three is kept, lest ``[CLS]`` win always.
    """
    rng = random.Random(recipe.seed)
    windows: list[Window] = []
    for question in questions:
        windows += [w for w in _label(question, tokenizer, rng) if w.end > 0 or rng.random() < 1 / 3]
        if rng.random() < recipe.wrong_paragraph:
            other = rng.choice(questions)
            if other.context != question.context:
                wrong = Question(question.id, question.text, other.context, ())
                windows.append(rng.choice(_label(wrong, tokenizer, rng)))
    return windows


def _label(question: Question, tokenizer: DocumentTokenizer, rng: random.Random) -> list[Window]:
    batch = tokenizer.encode(question.text, question.context)
    answer = rng.choice(question.answers) if question.answers else None
    windows = []
    for row in range(len(batch)):
        length = int(batch.attention_mask[row].sum())
        start, end = _token_span(batch.offsets[row], answer) if answer else (0, 0)
        windows.append(Window(batch.input_ids[row, :length], batch.token_type_ids[row, :length], start, end))
    return windows


def _token_span(offsets: npt.NDArray[np.int64], answer: tuple[int, str]) -> tuple[int, int]:
    """Finds the first and last token of an answer; ``(0, 0)`` where the window does not hold all of it."""
    first_char, last_char = answer[0], answer[0] + len(answer[1])
    inside = offsets[:, 0] != NO_OFFSET
    tokens = np.flatnonzero(inside & (offsets[:, 1] > first_char) & (offsets[:, 0] < last_char))
    whole = tokens.size and offsets[tokens[0], 0] <= first_char and offsets[tokens[-1], 1] >= last_char
    return (int(tokens[0]), int(tokens[-1])) if whole else (0, 0)


def batches(windows: Sequence[Window], recipe: Recipe, epoch: int) -> list[list[Window]]:
    """Groups windows of like length into batches of about ``batch_tokens`` tokens, in random order."""
    rng = random.Random(recipe.seed * 1000 + epoch)
    ordered = sorted(windows, key=lambda w: (len(w.input_ids) // 8, rng.random()))
    groups: list[list[Window]] = [[]]
    for window in ordered:
        if len(groups[-1]) * len(window.input_ids) >= recipe.batch_tokens:
            groups.append([])
        groups[-1].append(window)
    rng.shuffle(groups)
    return groups


def collate(group: Sequence[Window]) -> tuple[torch.Tensor, ...]:
    """Pads a batch: ids, mask, types ``[rows, tokens]`` int64, and start and end ``[rows]`` int64."""
    width = max(len(window.input_ids) for window in group)
    ids, mask, types = (np.zeros((len(group), width), np.int64) for _ in range(3))
    for row, window in enumerate(group):
        length = len(window.input_ids)
        ids[row, :length], types[row, :length], mask[row, :length] = window.input_ids, window.token_type_ids, 1
    spans = np.array([(window.start, window.end) for window in group], np.int64)
    return tuple(torch.from_numpy(a) for a in (ids, mask, types, spans[:, 0].copy(), spans[:, 1].copy()))


def span_loss(network: SpanNetwork, group: Sequence[Window]) -> torch.Tensor:
    """Mean cross-entropy of start and end; padding cannot be chosen."""
    ids, mask, types, start, end = collate(group)
    start_logits, end_logits = network(ids, mask, types)
    padding = mask == 0
    return (
        functional.cross_entropy(start_logits.masked_fill(padding, -1e4), start)
        + functional.cross_entropy(end_logits.masked_fill(padding, -1e4), end)
    ) / 2


def train(network: SpanNetwork, windows: Sequence[Window], recipe: Recipe, checkpoint: Path) -> None:
    """Trains ``network`` in place with AdamW under a linear schedule, with a checkpoint every 200 steps.

    The word embeddings stay as they are: their gradient is dense over 30,522 rows, of which a batch touches few.
    """
    network.encoder.embeddings.word_embeddings.weight.requires_grad_(False)
    plan = _plan(windows, recipe)
    parameters = [p for p in network.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=recipe.learning_rate, weight_decay=0.01)
    warmup = max(1, int(recipe.warmup * len(plan)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warmup, max(0.0, (len(plan) - s) / (len(plan) - warmup)))
    )
    step = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        step = state["step"]
    network.train()
    torch.manual_seed(recipe.seed + step)
    began, first, recent = time.monotonic(), step, 0.0
    for group in plan[step:]:
        loss = span_loss(network, group)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        step += 1
        recent = 0.98 * recent + 0.02 * loss.item() if step > first + 1 else loss.item()
        if step % 20 == 0:
            rate = (step - first) / (time.monotonic() - began)
            print(
                f"step {step}/{len(plan)}  loss {recent:.3f}  {(len(plan) - step) / rate / 60:.0f} min left", flush=True
            )
        if step % 200 == 0:
            state = {
                "network": network.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
            }
            torch.save({**state, "step": step}, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)


def _plan(windows: Sequence[Window], recipe: Recipe) -> list[list[Window]]:
    """All the batches of the run, in order; the last epoch may be cut short."""

    def epochs() -> Iterator[list[Window]]:
        for epoch in range(int(np.ceil(recipe.epochs))):
            groups = batches(windows, recipe, epoch)
            yield from groups[: int(len(groups) * min(1.0, recipe.epochs - epoch))]

    return list(epochs())


def main() -> None:
    """Trains from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", nargs="+", type=Path, help="SQuAD 1.1 or 2.0 JSON files")
    parser.add_argument("--base", type=Path, required=True, help="Hugging Face directory of the BERT to start from")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=float, default=Recipe().epochs)
    parser.add_argument("--held-out", type=int, default=300, help="questions kept back for validation")
    arguments = parser.parse_args()
    recipe = Recipe(epochs=arguments.epochs)
    arguments.out.mkdir(parents=True, exist_ok=True)

    questions = [question for path in arguments.data for question in read_squad(path)]
    random.Random(recipe.seed).shuffle(questions)
    tokenizer = DocumentTokenizer(arguments.base / "tokenizer.json", recipe.window, recipe.overlap)
    windows = make_windows(questions[arguments.held_out :], tokenizer, recipe)
    print(f"{len(questions)} questions, {len(windows)} windows", flush=True)
    torch.manual_seed(recipe.seed)
    network = SpanNetwork(load_encoder(arguments.base))
    train(network, windows, recipe, arguments.out / "checkpoint.pt")

    network.eval()
    held_out = [
        span for question in questions[: arguments.held_out] for span in _label(question, tokenizer, random.Random(0))
    ]
    with torch.no_grad():
        loss = float(np.mean([float(span_loss(network, [window])) for window in held_out]))
    torch.save(network.state_dict(), arguments.out / "network.pt")
    shutil.copy(arguments.base / "tokenizer.json", arguments.out / "tokenizer.json")
    card = {
        "task": "extractive question answering",
        "base": BASE,
        "data": name_data(arguments.data),
        "recipe": {name: getattr(recipe, name) for name in Recipe.__slots__},
        "held_out_loss": round(loss, 4),
    }
    write_card(arguments.out / "card.json", card)
    print(f"held-out loss {loss:.3f}; weights in {arguments.out / 'network.pt'}")


if __name__ == "__main__":
    main()
