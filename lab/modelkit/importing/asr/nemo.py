"""Reads ``.nemo`` archives of cache-aware streaming recognizers, without NeMo.

The configuration is that of NeMo 1.20 to 3.0 (``ConformerEncoder`` with ``att_context_style: chunked_limited``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from engines.asr.fastconformer.shape import SUBSAMPLING, Shape
from engines.asr.serving.utterance import SAMPLE_RATE
from engines.spectra import slaney_filters
from modelkit.errors import CheckpointError
from modelkit.importing.asr.checkpoint import AsrCheckpoint, check_sizes
from modelkit.importing.engine import digests
from modelkit.importing.nemo_archive import WEIGHTS, Archive
from modelkit.importing.weights import read_pickled

if TYPE_CHECKING:
    from pathlib import Path

    from modelkit.importing.weights import State

HYBRID, TRANSDUCER, CTC = "EncDecHybridRNNTCTCBPEModel", "EncDecRNNTBPEModel", "EncDecCTCModelBPE"

PER_FEATURE = "per_feature"
"""Normalization of features over the whole utterance."""

_RENAMINGS = [
    (r"^encoder\.pre_encode\.conv\.0\.", "encoder.subsampling.conv_in."),
    (r"^encoder\.pre_encode\.conv\.2\.", "encoder.subsampling.layers.0.depthwise_conv."),
    (r"^encoder\.pre_encode\.conv\.3\.", "encoder.subsampling.layers.0.pointwise_conv."),
    (r"^encoder\.pre_encode\.conv\.5\.", "encoder.subsampling.layers.1.depthwise_conv."),
    (r"^encoder\.pre_encode\.conv\.6\.", "encoder.subsampling.layers.1.pointwise_conv."),
    (r"^encoder\.pre_encode\.out\.", "encoder.subsampling.linear."),
    (r"self_attn\.pos_bias_([uv])$", r"self_attn.bias_\1"),
    (r"self_attn\.linear_([qkv])\.", r"self_attn.\1_proj."),
    (r"self_attn\.linear_out\.", "self_attn.o_proj."),
    (r"self_attn\.linear_pos\.", "self_attn.relative_k_proj."),
    (r"conv\.batch_norm\.", "conv.norm."),
    (r"^decoder\.prediction\.embed\.", "decoder.embedding."),
    (r"^decoder\.prediction\.dec_rnn\.lstm\.", "decoder.lstm."),
    (r"^joint\.pred\.", "decoder.decoder_projector."),
    (r"^joint\.enc\.", "encoder_projector."),
    (r"^joint\.joint_net\.\d+\.", "joint.head."),
    (r"^(ctc_)?decoder\.decoder_layers\.0\.", "ctc.head."),
]
_FILTERS = "preprocessor.featurizer.fb"
_IGNORED = ("preprocessor.", "spec_aug", "spectrogram_augmentation.", "loss.")
_FILTERS_TOLERANCE = 1e-5
_LABELS = ("labels", "joint.vocabulary", "decoder.vocabulary")


def read_nemo_asr(path: Path, scratch: Path) -> AsrCheckpoint:
    """Read an archive.

    Args:
        path: of the archive.
        scratch: an empty folder for what is unpacked.

    Raises:
        CheckpointError: the archive is damaged, not to be trusted, of another model, or cannot be streamed.
        DataError: a file in it is no text.
    """
    archive = Archive.open(path, scratch)
    kind = archive.word("target").rpartition(".")[2]
    if kind not in {HYBRID, TRANSDUCER, CTC}:
        raise CheckpointError(
            f"{path} holds {kind or 'a model without a target'}: {HYBRID}, {TRANSDUCER} and {CTC} are served"
        )
    _check(archive, _SETTINGS if kind == CTC else _SETTINGS | _TRANSDUCER_SETTINGS)
    _check_tdt(archive)
    pieces = _pieces(archive)
    contexts = _contexts(archive)
    shape, inner, joint = _sizes(archive, kind, len(pieces), contexts)
    weights = read_pickled(archive.files[WEIGHTS], f"{path}: {WEIGHTS}")
    _check_filters(path, weights, shape.mel_bins)
    return AsrCheckpoint(
        name=str(path),
        kind=kind,
        shape=shape,
        look_aheads=tuple(right for _, right in contexts),
        inner=inner,
        joint=joint,
        scales=bool(archive.get("encoder.xscaling")),
        weights=_renamed(weights),
        pieces=pieces,
        licence=archive.word("license") or "not stated in the archive",
        files=digests([path]),
    )


_SETTINGS: dict[str, tuple[object, ...]] = {
    "sample_rate": (SAMPLE_RATE, None),
    "preprocessor.sample_rate": (SAMPLE_RATE,),
    "preprocessor.normalize": ("NA", None, PER_FEATURE),
    "preprocessor.window_size": (0.025,),
    "preprocessor.window_stride": (0.01,),
    "preprocessor.window": ("hann",),
    "preprocessor.n_fft": (512,),
    "preprocessor.log": (True, None),
    "preprocessor.frame_splicing": (1, None),
    "preprocessor.preemph": (0.97, None),
    "encoder.att_context_style": ("chunked_limited",),
    "encoder.subsampling": ("dw_striding",),
    "encoder.subsampling_factor": (SUBSAMPLING,),
    "encoder.causal_downsampling": (True,),
    "encoder.self_attention_model": ("rel_pos",),
    "encoder.untie_biases": (True, None),
    "encoder.conv_norm_type": ("layer_norm",),
    "encoder.conv_context_size": ("causal",),
    "encoder.reduction": (None,),
}
"""Settings of the configuration that are served."""
_TRANSDUCER_SETTINGS: dict[str, tuple[object, ...]] = {
    "joint.jointnet.activation": ("relu",),
    "decoder.normalization_mode": (None,),
    "decoder.blank_as_pad": (True, None),
}
_CURES = {
    "preprocessor.normalize": "take a checkpoint that was trained with normalize: NA, which streams, or per_feature",
    "encoder.att_context_style": "its encoder needs the whole utterance: take a cache-aware streaming checkpoint",
    "sample_rate": "sound is recognized at 16 kHz: take a checkpoint for that rate",
    "preprocessor.sample_rate": "sound is recognized at 16 kHz: take a checkpoint for that rate",
}


def _check(archive: Archive, settings: dict[str, tuple[object, ...]]) -> None:
    for key, served in settings.items():
        value = archive.get(key)
        if value not in served:
            known = " or ".join("left out" if one is None else str(one) for one in served)
            cure = _CURES.get(key, f"only {known} is served: take another checkpoint")
            raise CheckpointError(f"{archive.path} has {key}: {value!r}; {cure}")


def _check_tdt(archive: Archive) -> None:
    """Refuse the token-and-duration transducer (Xu et al. 2023), whose joint network also tells durations."""
    durations = archive.get("decoding.durations") or archive.get("model_defaults.tdt_durations")
    if archive.get("loss.loss_name") == "tdt" or archive.get("joint.num_extra_outputs") or durations:
        raise CheckpointError(
            f"{archive.path} is a token-and-duration transducer (TDT), which is not served: take a checkpoint "
            "with RNNT or CTC"
        )


def _pieces(archive: Archive) -> tuple[str, ...]:
    labels = next((found for key in _LABELS if (found := archive.get(key))), None)
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        raise CheckpointError(f"{archive.path} lists no labels, so nothing says what its tokens spell: save it again")
    return tuple(labels)


def _contexts(archive: Archive) -> list[tuple[int, int]]:
    stated = archive.get("encoder.att_context_size")
    pairs = stated if isinstance(stated, list) and stated and isinstance(stated[0], list) else [stated]
    for pair in pairs:
        is_pair = isinstance(pair, list) and len(pair) == 2 and all(type(one) is int for one in pair)
        if not is_pair or not 1 <= pair[0] <= 1000 or not 0 <= pair[1] <= 100:
            raise CheckpointError(
                f"{archive.path} has encoder.att_context_size: {stated!r}; pairs of left and right frames are "
                "expected, such as [70, 6]"
            )
    return [(left, right) for left, right in pairs]


def _sizes(archive: Archive, kind: str, pieces: int, contexts: list[tuple[int, int]]) -> tuple[Shape, int, int]:
    encoder = {
        f"encoder.{key}": archive.get(f"encoder.{key}")
        for key in ("feat_in", "n_layers", "d_model", "n_heads", "subsampling_conv_channels", "conv_kernel_size")
    }
    encoder["encoder.ff_expansion_factor"] = archive.get("encoder.ff_expansion_factor") or 4
    if encoder["encoder.subsampling_conv_channels"] == -1:
        encoder["encoder.subsampling_conv_channels"] = encoder["encoder.d_model"]
    transducer: dict[str, Any] = {}
    if kind != CTC:
        transducer = {
            "decoder.prednet.pred_rnn_layers": archive.get("decoder.prednet.pred_rnn_layers"),
            "decoder.prednet.pred_hidden": archive.get("decoder.prednet.pred_hidden"),
            "joint.jointnet.joint_hidden": archive.get("joint.jointnet.joint_hidden"),
        }
    check_sizes(str(archive.path), encoder | transducer)
    mels, layers, width, heads, channels, kernel, expansion = encoder.values()
    if width % heads:
        raise CheckpointError(f"{archive.path} divides a width of {width} among {heads} heads: save it again")
    rnn_layers, rnn_width, joint = transducer.values() if transducer else (0, 0, 0)
    shape = Shape(
        mel_bins=mels,
        layers=layers,
        width=width,
        heads=heads,
        channels=channels,
        kernel=kernel,
        left_frames=contexts[0][0],
        look_ahead_frames=contexts[0][1],
        pieces=pieces,
        predictor_layers=rnn_layers,
        predictor_width=rnn_width,
        max_symbols=int(archive.number("decoding.greedy.max_symbols")) or 10,
        has_ctc=kind != TRANSDUCER,
        normalizes=archive.get("preprocessor.normalize") == PER_FEATURE,
    )
    return shape, width * expansion, joint


def _check_filters(path: Path, weights: State, bins: int) -> None:
    """Check that the archive's mel filters, where it holds them, are those that will be served."""
    filters = weights.get(_FILTERS)
    ours = slaney_filters(bins, 512, SAMPLE_RATE)
    if filters is not None and (
        filters.numel() != ours.size or np.abs(filters.numpy().reshape(ours.shape) - ours).max() > _FILTERS_TOLERANCE
    ):
        raise CheckpointError(f"{path} has mel filters of its own, which are not served: take another checkpoint")


def _renamed(weights: State) -> State:
    found: State = {}
    for name, tensor in weights.items():
        if name.startswith(_IGNORED):
            continue
        for pattern, replacement in _RENAMINGS:
            name = re.sub(pattern, replacement, name)  # noqa: PLW2901 - several may apply
        found[name] = tensor[:, :, 0] if name == "ctc.head.weight" and tensor.ndim == 3 else tensor
    return found
