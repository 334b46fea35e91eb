"""Engine directories whose network is a pipeline of stages."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from engines.build.files import whole_directory, write_whole
from modelkit.splitting.bert import split_bert
from modelkit.splitting.places import read_places
from modelkit.splitting.recognition import split_recognition
from modelkit.splitting.stage_files import CARD
from modelkit.triton_models import check_target, served_models

if TYPE_CHECKING:
    from pathlib import Path

    from modelkit.splitting.cuts import Stage


def split_engine(engine: Path, stages: int, out: Path, instance_group: str = "cpu") -> list[Stage]:
    """Make an engine directory that computes what ``engine`` does, in a pipeline of stages.

    Args:
        engine: an engine directory for intents, answers or recognition.
        stages: number of them.
        out: engine directory to write.
        instance_group: where the stages are, see :func:`modelkit.splitting.places.read_places`.

    Raises:
        EngineError: ``engine`` is none that can be split, or none can be written at ``out``.
        SplitError: the network cannot be cut so often, or the stages do not compute the same.
    """
    check_target(out)
    places = read_places(instance_group, stages)
    split = split_recognition if "asr" in {model.name for model in served_models(engine)} else split_bert
    with whole_directory(out / "triton") as target:
        chosen, cards = split(engine, target, places)
    if (smoke := engine / "smoke.jsonl").exists():
        shutil.copy(smoke, out)
    card = json.loads(path.read_text(encoding="utf-8")) if (path := engine / CARD).exists() else {}
    write_whole(out / CARD, json.dumps({**card, "stages": cards}, indent=1, ensure_ascii=False) + "\n")
    return chosen
