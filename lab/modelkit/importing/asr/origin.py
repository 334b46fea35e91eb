"""The origin of an imported recognizer: transformers' own encoder, over a whole utterance at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers
from torch.nn.functional import one_hot
from transformers.models.nemotron3_5_asr.modeling_nemotron3_5_asr import Nemotron3_5AsrPromptProjector

from engines.asr.fastconformer.features import FRAME_SAMPLES, LogMel, normalized

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from modelkit.importing.asr.checkpoint import AsrCheckpoint
    from modelkit.importing.weights import State

_ENCODER, _PROMPT = "encoder.", "prompt_projector."


def encode(checkpoint: AsrCheckpoint, audio: NDArray[np.float32], prompt: int) -> NDArray[np.float32]:
    """Return the encoder's frames of an utterance, float32 ``[frames, width]``."""
    shape = checkpoint.shape
    config = transformers.NemotronAsrStreamingEncoderConfig(
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=checkpoint.inner,
        conv_kernel_size=shape.kernel,
        subsampling_conv_channels=shape.channels,
        num_mel_bins=shape.mel_bins,
        scale_input=checkpoint.scales,
        sliding_window=shape.left_frames + 1,
    )
    encoder: Any = transformers.NemotronAsrStreamingEncoder(config)
    _load(encoder, checkpoint.weights, _ENCODER)
    encoder.eval()
    mels = LogMel(shape.mel_bins).frames(audio, 0, len(audio) // FRAME_SAMPLES)
    mels = normalized(mels) if shape.normalizes else mels
    with torch.inference_mode():
        found = encoder(torch.from_numpy(mels)[None], num_lookahead_tokens=shape.look_ahead_frames).last_hidden_state
        if shape.prompts:
            projector = Nemotron3_5AsrPromptProjector(
                transformers.Nemotron3_5AsrConfig(
                    encoder_config=config.to_dict(),
                    num_prompts=shape.prompts,
                    prompt_intermediate_size=checkpoint.prompt_inner,
                )
            )
            _load(projector, checkpoint.weights, _ENCODER + _PROMPT)
            told = one_hot(torch.tensor(prompt), shape.prompts).float()
            found = projector(torch.cat([found, told.expand(*found.shape[:2], -1)], -1))
    frames: NDArray[np.float32] = found[0].numpy()
    return frames


def _load(module: Any, weights: State, prefix: str) -> None:  # noqa: ANN401 - transformers' own
    """Load the weights below a prefix; biases that a network goes without are zero."""
    names = module.state_dict().keys()
    module.load_state_dict(
        {
            name: weights[prefix + name].float()
            if prefix + name in weights
            else torch.zeros_like(module.get_parameter(name))
            for name in names
        },
        assign=True,
    )
