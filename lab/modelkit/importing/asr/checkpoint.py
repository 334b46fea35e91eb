"""A streaming recognizer as its checkpoint states it, whatever wrote it, and its networks."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import nn

from engines.asr.fastconformer.network import CtcHead, EncoderStep, Joint, Predictor
from modelkit.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engines.asr.fastconformer.shape import Shape
    from modelkit.importing.weights import State

_MAX_WIDTH = 8192
_MAX_LAYERS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class AsrCheckpoint:
    """A streaming recognizer.

    Attributes:
        name: path of the checkpoint, for errors.
        kind: class of the network, as its makers call it.
        shape: sizes, with the look-ahead that the checkpoint names first.
        look_aheads: encoder frames of look-ahead that it was trained for.
        inner: width inside the feed-forward layers.
        joint: width of the joint network.
        scales: True if subsampled frames are multiplied by the square root of the width.
        prompt_inner: width inside the fusion with the language; 0 without one.
        weights: by the names of transformers' ``nemotron_asr_streaming``, with ``ctc.head`` for a CTC head.
        pieces: what each token spells, U+2581 for a space.
        licence: of the weights, where the checkpoint tells it.
        files: of the checkpoint, with their SHA-256.
        languages: prompts by language tag; empty for a network without prompts.
        default_prompt: prompt where no language is asked for.
    """

    name: str
    kind: str
    shape: Shape
    look_aheads: tuple[int, ...]
    inner: int
    joint: int
    scales: bool
    weights: State
    pieces: tuple[str, ...]
    licence: str
    files: Mapping[str, str]
    prompt_inner: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)
    default_prompt: int = 0

    def with_look_ahead(self, milliseconds: int | None) -> AsrCheckpoint:
        """Return the same for another look-ahead; None: the longest up to 560 ms, which suits conversations.

        Raises:
            CheckpointError: it was not trained for that.
        """
        known = {self._milliseconds(frames): frames for frames in self.look_aheads}
        if milliseconds is None:
            milliseconds = max((one for one in known if one <= LOOK_AHEAD_OF_CONVERSATIONS), default=min(known))
        if milliseconds not in known:
            choice = ", ".join(str(one) for one in sorted(known))
            raise CheckpointError(f"{self.name} was not trained for a look-ahead of {milliseconds} ms: choose {choice}")
        frames = known[milliseconds]
        chunk, left = frames + 1, self.shape.left_frames
        if left < chunk:
            raise CheckpointError(
                f"{self.name} sees {left} frames of the past, less than a chunk of {chunk}: choose a shorter "
                "--look-ahead"
            )
        return dataclasses.replace(
            self, shape=dataclasses.replace(self.shape, look_ahead_frames=frames, left_frames=left // chunk * chunk)
        )

    @staticmethod
    def _milliseconds(frames: int) -> int:
        return 80 * (frames + 1)


LOOK_AHEAD_OF_CONVERSATIONS = 560
"""Milliseconds: longer look-aheads make the first text late."""


@dataclass(frozen=True, slots=True)
class Networks:
    """The parts of a recognizer, ready to be exported.

    Attributes:
        encoder: one chunk of several streams.
        predictor: of a transducer, or None.
        joint: of a transducer, or None.
        ctc: the CTC head, or None.
    """

    encoder: EncoderStep
    predictor: Predictor | None
    joint: Joint | None
    ctc: CtcHead | None


def check_sizes(name: str, sizes: Mapping[str, object]) -> None:
    """Check that sizes of a configuration are numbers that a network can have.

    Raises:
        CheckpointError: one is not.
    """
    for key, value in sizes.items():
        most = _MAX_LAYERS if "layers" in key else _MAX_WIDTH
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise CheckpointError(f"{name} gives {value!r} for {key}: a whole number from 1 to {most} is expected")


def build_networks(checkpoint: AsrCheckpoint) -> Networks:
    """Make the networks of a checkpoint.

    Raises:
        CheckpointError: weights are missing, of another shape than the configuration says, or not finite.
    """
    shape = checkpoint.shape
    left = {key: tensor.float() for key, tensor in checkpoint.weights.items()}
    if not all(torch.isfinite(tensor).all() for tensor in left.values()):
        raise CheckpointError(f"{checkpoint.name} holds weights that are no numbers: get it again")
    with torch.device("meta"):
        encoder = EncoderStep(
            shape, checkpoint.inner, shape.width**0.5 if checkpoint.scales else 1.0, checkpoint.prompt_inner
        )
        predictor = Predictor(shape, checkpoint.joint) if shape.predictor_layers else None
        joint = Joint(shape, checkpoint.joint) if shape.predictor_layers else None
        ctc = CtcHead(shape) if shape.has_ctc else None
    positions = [left.pop(f"encoder.layers.{i}.self_attn.relative_k_proj.weight", None) for i in range(shape.layers)]
    if any(weight is None or tuple(weight.shape) != (shape.width, shape.width) for weight in positions):
        raise CheckpointError(f"{checkpoint.name} lacks projections of positions: only relative positions are served")
    _load(checkpoint, encoder, "encoder.", left)
    encoder.place([weight for weight in positions if weight is not None])
    if predictor is not None and joint is not None:
        _load(checkpoint, predictor, "decoder.", left)
        left |= {f"joint.{key}": left.pop(key) for key in list(left) if key.startswith("encoder_projector.")}
        _load(checkpoint, joint, "joint.", left)
    if ctc is not None:
        _load(checkpoint, ctc, "ctc.", left)
    if left:
        raise CheckpointError(f"{checkpoint.name} holds weights that are not known, such as {min(left)}")
    return Networks(*(part.eval() if part is not None else None for part in (encoder, predictor, joint, ctc)))  # type: ignore[arg-type]


def _load(checkpoint: AsrCheckpoint, module: nn.Module, prefix: str, left: State) -> None:
    """Take a module's weights out of ``left``; biases that a network goes without are zero."""
    state: State = {}
    for name, wanted in module.state_dict().items():
        found = left.pop(prefix + name, None)
        if found is None and name.endswith("bias"):
            found = torch.zeros(wanted.shape)
        if found is not None and name.startswith("layers.") and ".pointwise_conv" in name and found.ndim == 3:
            found = found[:, :, 0]
        if found is None or found.shape != wanted.shape:
            said = "none" if found is None else "x".join(map(str, found.shape))
            raise CheckpointError(
                f"{checkpoint.name}: weights {prefix}{name} are {said}, and the configuration and labels ask for "
                f"{'x'.join(map(str, wanted.shape))}: get the checkpoint again"
            )
        state[name] = found
    module.load_state_dict(state, strict=False, assign=True)
