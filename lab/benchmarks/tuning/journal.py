"""What was measured is written down at once, so that a search that was interrupted goes on where it stopped.

The search decides by what is measured alone: asked the same again, it takes the same way, and the first part of it
costs nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from benchmarks.tuning.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from benchmarks.tuning.search import Measure
    from benchmarks.tuning.space import Candidate


class OtherSearchError(ValueError):
    """A journal was written under other conditions, or is none; the message says what to do."""


class Journal:
    """Measures what was not measured yet, and remembers it.

    Args:
        path: the file, a JSON object a line; it is made if it is not there.
        conditions: what must be alike for measurements to be comparable.
        measure: measures a candidate for real.
        tell: told every outcome, with whether it is from the file.

    Raises:
        OtherSearchError: the file is of a search under other conditions, or none.
    """

    def __init__(
        self,
        path: Path,
        conditions: Mapping[str, object],
        measure: Measure,
        tell: Callable[[Candidate, int, Outcome, bool], None] = lambda *_: None,
    ) -> None:
        self._path = path
        self._measure = measure
        self._tell = tell
        self._known: dict[tuple[str, int, float, bool], deque[Outcome]] = defaultdict(deque)
        if path.exists():
            self._read(conditions)
        else:
            self._write({"conditions": dict(conditions)})

    def __call__(self, candidate: Candidate, streams: int, seconds: float, *, unseen: bool = False) -> Outcome:
        """Returns what the file knows, as often as it was measured, and measures from then on."""
        key = (str(candidate), streams, seconds, unseen)
        known = self._known[key]
        if known:
            outcome = known.popleft()
            self._tell(candidate, streams, outcome, True)
            return outcome
        outcome = self._measure(candidate, streams, seconds, unseen=unseen)
        self._write(
            dict(zip(("candidate", "streams", "seconds", "unseen"), key, strict=True)) | {"outcome": asdict(outcome)}
        )
        self._tell(candidate, streams, outcome, False)
        return outcome

    def _read(self, conditions: Mapping[str, object]) -> None:
        try:
            first, *rest = _lines(self._path)
            was = first["conditions"]
            for line in rest:
                key = (line["candidate"], line["streams"], line["seconds"], line["unseen"])
                self._known[key].append(Outcome(**line["outcome"]))
        except (ValueError, KeyError, TypeError) as error:
            raise OtherSearchError(f"{self._path} is no log of `vivavoce tune`: choose another --out") from error
        for name, value in conditions.items():
            if was.get(name) != value:
                message = f"{self._path} is of another search ({name} was {was.get(name)}, and is {value})"
                raise OtherSearchError(f"{message}: choose another --out, or begin anew with --fresh")

    def _write(self, line: Mapping[str, object]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _lines(path: Path) -> list[dict[str, Any]]:
    """Reads the lines of a journal; the last one may be torn, where the machine lost its power."""
    texts = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if texts and not texts[-1].endswith("\n"):
        path.write_text("".join(texts[:-1]), encoding="utf-8")
        texts.pop()
    return [json.loads(text) for text in texts]
