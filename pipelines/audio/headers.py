"""Checks of what audio headers say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.audio.formats import MAX_CHANNELS, MAX_RATE_HZ, MIN_RATE_HZ
from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from pipelines.audio.formats import AudioFormat


def check_header(promised: AudioFormat, rate: int, channels: int) -> None:
    """Check a header against what is served and what the caller announced.

    Raises:
        UndecodableAudioError: the rate or the number of channels is not served, or is another than promised.
    """
    if not MIN_RATE_HZ <= rate <= MAX_RATE_HZ:
        raise UndecodableAudioError(f"the audio's header says {rate} Hz: send {MIN_RATE_HZ} to {MAX_RATE_HZ} Hz")
    if not 1 <= channels <= MAX_CHANNELS:
        raise UndecodableAudioError(f"the audio's header says {channels} channels: send 1 or 2")
    if promised.channels and promised.channels != channels:
        raise UndecodableAudioError(
            f"the audio's header says {channels} channel(s), the config {promised.channels}: leave the config's at 0"
        )


def check_follows(rate: int, channels: int, first_rate: int, first_channels: int) -> None:
    """Check the header of a following recording in the same stream.

    Raises:
        UndecodableAudioError: it has another rate or number of channels than the first one.
    """
    if (rate, channels) != (first_rate, first_channels):
        raise UndecodableAudioError(
            f"a recording of {rate} Hz and {channels} channel(s) follows one of {first_rate} Hz and {first_channels}: "
            "record all alike, or open another stream for it"
        )
