"""The speakers that a service tells apart, and those that it tells by name."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import SPEAKER
from pipelines.errors import InvalidInputError
from pipelines.speakers.diarization import Diarization, read_max_speakers
from pipelines.speakers.enrolled import EnrolledVoices, EnrolmentError, read_voices

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.dialog.session import DialogSession

logger = logging.getLogger(__name__)


class Speakers:
    """Diarization as far as a service has it.

    Args:
        is_served: whether speakers are told apart.
        folder: of the enrolled voices; None: there are none.

    Raises:
        EnrolmentError: the folder cannot be read.
    """

    def __init__(self, *, is_served: bool = False, folder: Path | None = None) -> None:
        self.is_served = is_served or folder is not None
        self._folder = folder
        self._voices, self._read_at = EnrolledVoices(), -1
        if folder is not None:
            self._voices, self._read_at = read_voices(folder), folder.stat().st_mtime_ns

    @property
    def tells_names(self) -> bool:
        """True if voices are told by name."""
        return self._folder is not None

    def diarization(self, max_speakers: int, count_field: str, field: str) -> Diarization:
        """Return the diarization that a caller asks for.

        Args:
            max_speakers: as the caller gave it; 0: not at all.
            count_field: the field that it stands in.
            field: the field that asks for it.

        Raises:
            InvalidInputError: speakers are not told apart, or not so many.
        """
        if not self.is_served:
            message = "speakers are not told apart: leave it out, or serve it (`serve --diarization`)"
            raise InvalidInputError(field, "NO_SPEAKER_DIARIZATION", message)
        return Diarization(read_max_speakers(max_speakers, count_field), self._enrolled())

    def for_agent(self, dialog: DialogSession | None) -> Diarization | None:
        """Return what an agent needs that is told its caller's name; None for others."""
        if not self.tells_names or dialog is None or SPEAKER not in dialog.agent.form.parameters:
            return None
        return Diarization(enrolled=self._enrolled())

    def _enrolled(self) -> EnrolledVoices:
        """Return the voices as they are now: who was deleted is forgotten at once."""
        if self._folder is None:
            return self._voices
        try:
            changed_at = self._folder.stat().st_mtime_ns
            if changed_at != self._read_at:
                self._voices, self._read_at = read_voices(self._folder), changed_at
        except (OSError, EnrolmentError) as error:
            logger.warning("no voice is told by name: %s", error)
            return EnrolledVoices()
        return self._voices
