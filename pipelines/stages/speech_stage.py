"""Speech stage: text of a spoken reply; its audio follows the reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pipelines.data.speech import SpokenText
from pipelines.data.stages import DIALOG, NLU, QA, SPEECH
from pipelines.errors import InvalidInputError
from pipelines.speech.script import sentences_of_text
from pipelines.stages.wording import answer_in_words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.models.ports import TurnModels
    from pipelines.speech.reply_voice import ReplyVoice
    from pipelines.stages.registry import StageConfig, StageRequest
    from pipelines.stages.wording import Wording


class SpeechStage:
    """The text of a spoken reply; see ``pipelines.stages.registry.Stage``.

    Args:
        wording: decides what is said.
    """

    name: ClassVar[str] = SPEECH
    after: ClassVar[tuple[str, ...]] = (NLU,)
    behind: ClassVar[tuple[str, ...]] = (QA, DIALOG)
    of_no_text: ClassVar[SpokenText] = SpokenText()
    in_order: ClassVar[bool] = False

    def __init__(self, wording: Wording = answer_in_words) -> None:
        self._wording = wording

    def wanted(self, config: StageConfig) -> bool:
        """See ``pipelines.stages.registry.Stage``."""
        return config.reply_voice is not None and (bool(config.documents) or config.dialog is not None)

    async def run(
        self,
        request: StageRequest,
        models: TurnModels,  # noqa: ARG002 - the voice is asked by the session, while the reply goes out
    ) -> AsyncIterator[SpokenText]:
        """See ``pipelines.stages.registry.Stage``."""
        assert request.config.reply_voice is not None
        turn = request.inputs.get(DIALOG)
        yield spoken_text(self._wording(request) if turn is None else turn.text, request.config.reply_voice)


def spoken_text(text: str, voice: ReplyVoice) -> SpokenText:
    """Return what is spoken of a text; nothing of one that has no words."""
    try:
        sentences_of_text(text, voice.lexicon)
    except InvalidInputError:
        # An answer may be a sign that is not spoken, and without words there is nothing to say.
        return SpokenText()
    return SpokenText(text)
