"""The benchmark of knowledge bases, on two articles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from benchmarks.knowledge import main

if TYPE_CHECKING:
    from pathlib import Path

ARTICLES = {
    "Boats": {"The cargo boat was built in 1874.": ("When was the cargo boat built?", "1874")},
    "Towers": {"The water tower is sixty metres high.": ("How high is the water tower?", "sixty metres")},
}


def squad(path: Path, articles: dict[str, dict[str, tuple[str, str]]]) -> str:
    data = [
        {
            "title": title,
            "paragraphs": [
                {
                    "context": context,
                    "qas": [
                        {
                            "id": f"{title}-{question}",
                            "question": question,
                            "answers": [{"answer_start": context.index(answer), "text": answer}],
                        }
                    ],
                }
                for context, (question, answer) in paragraphs.items()
            ],
        }
        for title, paragraphs in articles.items()
    ]
    path.write_text(json.dumps({"version": "1.1", "data": data}))
    return str(path)


def test_every_passage_is_found_and_the_result_is_kept(tmp_path: Path):
    more = {"More": {f"Paragraph {n} is about something else.": ("What is it about?", "else") for n in range(8)}}
    arguments = [squad(tmp_path / "own.json", ARTICLES), "--more", squad(tmp_path / "more.json", more)]
    done = CliRunner().invoke(main, [*arguments, "--passages", "12", "--out", str(tmp_path / "out.json")])
    assert done.exit_code == 0, done.output
    kept = json.loads((tmp_path / "out.json").read_text())
    assert (kept["passages"], kept["questions"], kept["timed_passages"]) == (2, 2, 12)
    assert kept["first"]["hybrid"] == kept["among_first"]["hybrid"] == 1.0
    assert kept["answer_f1"] == {"given": 1.0, "found": 1.0}
    assert 0 < kept["store_ms"]["p50"] <= kept["search_ms"]["p50"] <= kept["search_ms"]["p99"]
