from __future__ import annotations

from pathlib import Path

from benchmarks.alternatives.variants import FLAGS_OFF_SETTINGS, all_variants
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, QA_MODELS
from pipelines.models.triton.configs import parse
from service.triton.settings import read_settings

CONVERSATION = ("asr", *NLU_MODELS, *QA_MODELS)


def test_with_flags_off_no_model_of_a_conversation_waits_for_company_or_guesses():
    shipped = {name: (MODEL_REPOSITORY / name / "config.pbtxt").read_text() for name in CONVERSATION}
    configs = shipped | read_settings(FLAGS_OFF_SETTINGS).adjusted(shipped)
    assert any("\ndynamic_batching {" in config for config in shipped.values())
    assert not [name for name, config in configs.items() if "\ndynamic_batching {" in config]
    asr = parse(configs["asr"])
    assert (asr.max_batch_size, asr.parameters["speculative_decoding"].string_value) == (1, "false")


def test_every_variant_is_another():
    variants = all_variants(Path("nlu"), Path("qa"))
    assert len({variant.name for variant in variants}) == len({variant.arguments for variant in variants}) == 3
    ours, flags_off, naive = variants
    assert flags_off.arguments[: len(ours.arguments)] == ours.arguments
    assert naive.arguments[-4:] == ("--nlu-engine", "nlu", "--qa-engine", "qa")
    assert [variant.keeps_budget for variant in variants] == [True, True, False]
