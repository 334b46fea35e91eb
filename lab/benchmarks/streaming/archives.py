"""Archives of streaming recognizers with random weights, as NeMo writes them."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any

import torch
import yaml

if TYPE_CHECKING:
    from pathlib import Path

PIECES = 1024
_CHANNELS, _KERNEL, _MELS = 256, 9, 80
_NORMS = ("norm_feed_forward1", "norm_self_att", "norm_conv", "norm_feed_forward2", "norm_out", "conv.batch_norm")


def configuration(layers: int, width: int, pieces: int = PIECES) -> dict[str, Any]:
    """Return the configuration of a hybrid network of so many layers."""
    return {
        "target": "nemo.collections.asr.models.hybrid_rnnt_ctc_bpe_models.EncDecHybridRNNTCTCBPEModel",
        "sample_rate": 16000,
        "preprocessor": {
            "sample_rate": 16000,
            "normalize": "NA",
            "window_size": 0.025,
            "window_stride": 0.01,
            "window": "hann",
            "features": _MELS,
            "n_fft": 512,
        },
        "encoder": {
            "feat_in": _MELS,
            "n_layers": layers,
            "d_model": width,
            "n_heads": 8,
            "subsampling": "dw_striding",
            "subsampling_factor": 8,
            "subsampling_conv_channels": _CHANNELS,
            "causal_downsampling": True,
            "self_attention_model": "rel_pos",
            "att_context_size": [[70, 13], [70, 6], [70, 1], [70, 0]],
            "att_context_style": "chunked_limited",
            "xscaling": False,
            "conv_kernel_size": _KERNEL,
            "conv_norm_type": "layer_norm",
            "conv_context_size": "causal",
        },
        "decoder": {"prednet": {"pred_hidden": 640, "pred_rnn_layers": 1}},
        "joint": {"jointnet": {"joint_hidden": 640, "activation": "relu"}},
        "labels": ["<unk>", *(f"▁w{i}" for i in range(1, pieces))],
    }


def weights(config: dict[str, Any], blank_bias: float = 4.5) -> dict[str, torch.Tensor]:
    """Return random weights for a configuration.

    Args:
        config: see :func:`configuration`.
        blank_bias: of the joint network: with more of it there are fewer tokens.
    """
    encoder, pieces = config["encoder"], len(config["labels"])
    width, inner = encoder["d_model"], 4 * encoder["d_model"]
    hidden, joint = config["decoder"]["prednet"]["pred_hidden"], config["joint"]["jointnet"]["joint_hidden"]
    torch.manual_seed(1)
    found: dict[str, torch.Tensor] = {}

    def matrix(name: str, *sizes: int, biased: bool = True) -> None:
        fan = torch.Size(sizes[1:]).numel()
        found[f"{name}.weight"] = torch.randn(*sizes) * fan**-0.5
        if biased:
            found[f"{name}.bias"] = torch.randn(sizes[0]) * 0.1

    def norm(name: str) -> None:
        found[f"{name}.weight"], found[f"{name}.bias"] = torch.ones(width), torch.zeros(width)

    before = "encoder.pre_encode"
    matrix(f"{before}.conv.0", _CHANNELS, 1, 3, 3)
    for index in (2, 5):
        matrix(f"{before}.conv.{index}", _CHANNELS, 1, 3, 3)
        matrix(f"{before}.conv.{index + 1}", _CHANNELS, _CHANNELS, 1, 1)
    matrix(f"{before}.out", width, _CHANNELS * 11)
    for layer in range(encoder["n_layers"]):
        name = f"encoder.layers.{layer}"
        for part in _NORMS:
            norm(f"{name}.{part}")
        for part in ("feed_forward1", "feed_forward2"):
            matrix(f"{name}.{part}.linear1", inner, width)
            matrix(f"{name}.{part}.linear2", width, inner)
        for part in ("q", "k", "v", "out"):
            matrix(f"{name}.self_attn.linear_{part}", width, width)
        matrix(f"{name}.self_attn.linear_pos", width, width, biased=False)
        for part in "uv":
            found[f"{name}.self_attn.pos_bias_{part}"] = torch.randn(8, width // 8) * 0.1
        matrix(f"{name}.conv.pointwise_conv1", 2 * width, width, 1)
        matrix(f"{name}.conv.depthwise_conv", width, 1, _KERNEL)
        matrix(f"{name}.conv.pointwise_conv2", width, width, 1)
    found["decoder.prediction.embed.weight"] = torch.randn(pieces + 1, hidden)
    found["decoder.prediction.embed.weight"][-1] = 0
    for part, sizes in (("weight_ih", (4 * hidden, hidden)), ("weight_hh", (4 * hidden, hidden))):
        found[f"decoder.prediction.dec_rnn.lstm.{part}_l0"] = torch.randn(*sizes) * hidden**-0.5
    for part in ("bias_ih", "bias_hh"):
        found[f"decoder.prediction.dec_rnn.lstm.{part}_l0"] = torch.zeros(4 * hidden)
    matrix("joint.pred", joint, hidden)
    matrix("joint.enc", joint, width)
    matrix("joint.joint_net.2", pieces + 1, joint)
    found["joint.joint_net.2.bias"][-1] += blank_bias
    matrix("ctc_decoder.decoder_layers.0", pieces + 1, width, 1)
    return found


def write(path: Path, config: dict[str, Any], state: dict[str, torch.Tensor]) -> None:
    """Write an archive."""
    packed = io.BytesIO()
    torch.save(state, packed)
    members = {"model_config.yaml": yaml.safe_dump(config).encode(), "model_weights.ckpt": packed.getvalue()}
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
