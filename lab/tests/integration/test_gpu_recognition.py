"""Recognition in PyTorch inside a real Triton; on the CPU, where there is no GPU: the same code without CUDA graphs."""

from __future__ import annotations

import asyncio
import re
import shutil

import numpy as np
import pytest

pytest.importorskip("torch")

import tritonclient.grpc.aio as triton

from benchmarks.gpu.server import serving
from benchmarks.gpu.spoken import load
from benchmarks.sla.material import DEMONSTRATION, read_items
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.serving.utterance import Utterance
from engines.build.moonshine import TARGET, find_assets
from engines.build.moonshine_network import write_network
from engines.gpu.device import NETWORK, cuda_devices
from modelkit.triton_models import MODEL_REPOSITORY


@pytest.fixture
def repository(tmp_path):
    """The shipped model, without the files of onnxruntime, on a GPU or, without graphs, on the CPU."""
    device = "cuda" if cuda_devices() else "torch-cpu"
    folder = tmp_path / "asr" / "1" / TARGET.name
    folder.mkdir(parents=True)
    shutil.copy(MODEL_REPOSITORY / "asr" / "1" / "model.py", tmp_path / "asr" / "1")
    shutil.copy(TARGET / "tokenizer.bin", folder)
    write_network(find_assets(), folder / NETWORK)
    config = (MODEL_REPOSITORY / "asr" / "config.pbtxt").read_text(encoding="utf-8")
    for key, value in (("device", device), ("gpu_precision", "float32")):
        config, replaced = re.subn(rf'(key: "{key}", value: \{{ string_value: )"\w+"', rf'\1"{value}"', config)
        assert replaced == 1
    (tmp_path / "asr" / "config.pbtxt").write_text(config, encoding="utf-8")
    return tmp_path


async def stream(client, sequence_id, audio):
    """Sends an utterance in pieces, with a hint; returns the texts that come back.

    The last piece but one asks for a text: the others get one only while the model is not busy.
    """
    texts = []
    asked = (len(audio) - 1) // 12_000 - 1
    for start in range(0, len(audio), 12_000):
        piece = audio[start : start + 12_000]
        inputs = [
            triton.InferInput("AUDIO", [1, len(piece)], "FP32").set_data_from_numpy(piece[None]),
            triton.InferInput("DECODE", [1, 1], "BOOL").set_data_from_numpy(np.array([[start // 12_000 == asked]])),
        ]
        if sequence_id % 2 == 0:
            hints = np.array([["living room", "beehive"]], np.object_)
            inputs.append(triton.InferInput("PHRASE_HINTS", [1, 2], "BYTES").set_data_from_numpy(hints))
        end = start + 12_000 >= len(audio)
        result = await client.infer(
            "asr", inputs, sequence_id=sequence_id, sequence_start=start == 0, sequence_end=end, client_timeout=60
        )
        texts.append(result.as_numpy("TRANSCRIPT").item().decode())
    return texts


async def test_utterances_at_a_time_get_the_texts_of_onnxruntime(repository):
    audio = [load(item.path) for item in read_items(DEMONSTRATION)[:4]]
    async with serving(repository, "asr") as address, triton.InferenceServerClient(address) as client:
        streamed = await asyncio.gather(*(stream(client, number + 1, one) for number, one in enumerate(audio)))
    on_the_cpu = MoonshineRecognizer(TARGET)
    for one, texts in list(zip(audio, streamed, strict=True))[::2]:
        utterance = Utterance()
        utterance.append(one)
        assert texts[-1] == on_the_cpu.text(on_the_cpu.transcribe([utterance])[0])
        assert any(texts[:-1])
    # Those with hints are searched, on the same networks.
    assert all(texts[-1] for texts in streamed[1::2])
