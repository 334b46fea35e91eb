"""Streaming decoders: bytes in the caller's encoding become 16 kHz mono float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.detection import DetectingDecoder
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.audio.resampling import NO_SAMPLES, Resampler
from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from pipelines.audio.sample_decoder import SampleDecoder


class AudioDecoder:
    """Decodes, mixes to mono and resamples one stream of audio.

    Args:
        audio_format: what the caller promised to send.
    """

    def __init__(self, audio_format: AudioFormat) -> None:
        self._decoder: SampleDecoder = _sample_decoder(audio_format)
        self._resampler = Resampler()

    def decode(self, data: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield finished audio at 16 kHz, float32 ``[samples]``, block by block.

        Raises:
            UndecodableAudioError: ``data`` is not in the promised encoding, unpacks to too much, or holds NaN or
                infinity.
        """
        for block in self._decoder.decode(data):
            yield self._to_model_rate(block, last=False)
        if isinstance(self._decoder, DetectingDecoder):
            self._decoder = self._decoder.chosen or self._decoder

    def flush(self) -> npt.NDArray[np.float32]:
        """Return the samples that were held back for want of what follows.

        Raises:
            UndecodableAudioError: the audio breaks off in a way that its encoding does not allow.
        """
        return self._to_model_rate(self._decoder.flush(), last=True)

    def take_damage(self) -> list[str]:
        """Return a sentence for each new kind of damage; damaged audio was left out."""
        return self._decoder.take_damage() if self._decoder.is_damaged else []

    def _to_model_rate(self, samples: npt.NDArray[np.float32], *, last: bool) -> npt.NDArray[np.float32]:
        return self._resampler.convert(_mono(samples), self._decoder.sample_rate_hz, last=last)


def _mono(samples: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Mix ``[samples, channels]`` to ``[samples]``, also without any channel yet."""
    if not len(samples):
        return NO_SAMPLES
    mixed: npt.NDArray[np.float32] = samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1, dtype=np.float32)
    return mixed


class ChannelDecoder:
    """Decodes and resamples one stream of audio, each channel by itself.

    Args:
        decoder: decodes the samples.
        channels: how many are wanted, from the first on.
        leaves_out: whether further ones are left out; otherwise audio that has them is refused.
    """

    def __init__(self, decoder: SampleDecoder, channels: int, *, leaves_out: bool) -> None:
        self._decoder = decoder
        self._leaves_out = leaves_out
        self._resamplers = [Resampler() for _ in range(channels)]

    def decode(self, data: bytes) -> Iterator[list[npt.NDArray[np.float32]]]:
        """Yield the audio of each channel; see :class:`AudioDecoder`.

        Raises:
            InvalidInputError: the audio has more channels than are wanted.
            UndecodableAudioError: ``data`` is not in the promised encoding, unpacks to too much, or holds NaN or
                infinity.
        """
        for block in self._decoder.decode(data):
            yield self._to_model_rate(block, last=False)

    def flush(self) -> list[npt.NDArray[np.float32]]:
        """Return the samples that were held back for want of what follows.

        Raises:
            UndecodableAudioError: the audio breaks off in a way that its encoding does not allow.
        """
        return self._to_model_rate(self._decoder.flush(), last=True)

    def _to_model_rate(self, samples: npt.NDArray[np.float32], *, last: bool) -> list[npt.NDArray[np.float32]]:
        if not self._leaves_out and samples.shape[1] > len(self._resamplers):
            count = samples.shape[1]
            message = f"the audio has {count} channels, and all are to be heard: set the channel count to {count}"
            raise InvalidInputError("config.audio.channel_count", "NO_CHANNEL_COUNT", message)
        return [
            resampler.convert(
                samples[:, channel] if len(samples) else NO_SAMPLES, self._decoder.sample_rate_hz, last=last
            )
            for channel, resampler in enumerate(self._resamplers)
        ]


def channel_decoder(
    encoding: Encoding | None, sample_rate_hz: int, channels: int, wanted: int, *, leaves_out: bool = True
) -> ChannelDecoder:
    """Return a decoder of audio that may have a header even if its encoding has none.

    Args:
        encoding: None for what a header in the audio says.
        sample_rate_hz: 0 for what the header says; the header outranks it.
        channels: channels of the audio; 0 for one, or for what the header says.
        wanted: how many channels are decoded, from the first on.
        leaves_out: whether further ones are left out; otherwise audio that has them is refused.

    Raises:
        InvalidInputError: the rate or the number of channels is not served.
    """
    if encoding is not None and encoding.describes_itself:
        return ChannelDecoder(_sample_decoder(AudioFormat(encoding, 0, channels)), wanted, leaves_out=leaves_out)
    raw = AudioFormat(encoding or Encoding.LINEAR_PCM, sample_rate_hz, channels) if sample_rate_hz else None
    return ChannelDecoder(DetectingDecoder(channels, raw), wanted, leaves_out=leaves_out)


def _sample_decoder(audio_format: AudioFormat) -> SampleDecoder:
    """Return the decoder of audio; a header in it outranks an encoding that has none."""
    encoding = audio_format.encoding
    raw = None if encoding.describes_itself else audio_format
    return DetectingDecoder(audio_format.channels, raw, encoding)
