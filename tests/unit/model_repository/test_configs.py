"""Every ``config.pbtxt``, read as Triton reads it."""

from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from pipelines.models.shipped import SHIPPED

REPOSITORY = Path(__file__).parents[3] / "model_repository"
CONFIGS = sorted(REPOSITORY.glob("*/config.pbtxt"))


def read(path: Path) -> model_config_pb2.ModelConfig:
    return text_format.Parse(path.read_text(), model_config_pb2.ModelConfig())


def test_the_models_that_the_service_waits_for_are_there():
    assert set(SHIPPED.names) <= {path.parent.name for path in CONFIGS}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.parent.name)
def test_a_config_is_a_model_config_of_triton(path: Path):
    config = read(path)
    assert config.name == path.parent.name
    assert config.backend == "python" or config.platform == "ensemble"
    assert config.input
    assert config.output
    assert (path.parent / "1").is_dir()
    if config.backend == "python":
        assert (path.parent / "1" / "model.py").is_file()
        assert all(group.kind == model_config_pb2.ModelInstanceGroup.KIND_CPU for group in config.instance_group)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.parent.name)
def test_the_steps_of_an_ensemble_fit_the_models_that_they_name(path: Path):
    config = read(path)
    produced = {tensor.name for tensor in config.input}
    for step in config.ensemble_scheduling.step:
        model = read(REPOSITORY / step.model_name / "config.pbtxt")
        assert set(step.input_map) == {tensor.name for tensor in model.input if not tensor.optional}
        assert set(step.output_map) <= {tensor.name for tensor in model.output}
        assert set(step.input_map.values()) <= produced
        produced |= set(step.output_map.values())
    if config.platform == "ensemble":
        assert {tensor.name for tensor in config.output} <= produced


def test_recognition_is_batched_by_sequence():
    config = read(REPOSITORY / "asr" / "config.pbtxt")
    batching = config.sequence_batching
    kinds = {control.kind for tensor in batching.control_input for control in tensor.control}
    control = model_config_pb2.ModelSequenceBatching.Control
    assert {control.CONTROL_SEQUENCE_START, control.CONTROL_SEQUENCE_END, control.CONTROL_SEQUENCE_CORRID} <= kinds
    assert batching.WhichOneof("strategy_choice") == "oldest"
    assert batching.oldest.max_candidate_sequences >= 64
    assert config.max_batch_size > 1


@pytest.mark.parametrize("name", ["intent_slot_bert", "qa_bert"])
def test_berts_are_batched_dynamically(name: str):
    config = read(REPOSITORY / name / "config.pbtxt")
    assert config.HasField("dynamic_batching")
    assert config.max_batch_size > 1
