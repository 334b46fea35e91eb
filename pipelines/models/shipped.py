"""The engines of the shipped model repository."""

from __future__ import annotations

import numpy as np
from numpy import typing as npt

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.models.contracts import (
    ASR,
    EMBED,
    END_OF_TURN,
    INTENT_SLOT,
    PUNCTUATION,
    QA,
    TTS,
    EngineContract,
    EngineRegistry,
)
from pipelines.models.triton.embedding import TritonEmbeddings
from pipelines.models.triton.engines import TritonAnswers, TritonIntents, TritonPunctuation, TritonRecognizer
from pipelines.models.triton.synthesis import TritonSynthesizer
from pipelines.models.triton.turn_end import TritonEndOfTurn
from pipelines.models.versions.model_leases import LeasedRecognizer
from pipelines.models.versions.probes import (
    AnswerProbe,
    EmbeddingProbe,
    IntentProbe,
    PauseProbe,
    PunctuationProbe,
    SpeechProbe,
    SynthesisProbe,
)
from pipelines.models.versions.smoke_file import (
    read_intent,
    read_pause,
    read_punctuated,
    read_question,
    read_speech,
    read_spoken,
)

_DOCUMENT = (
    "The lighthouse on the northern cape was built in 1848 and stands forty metres high. Its lamp was lit by oil until "
    "the winter of 1931, when a cable from the mainland brought electricity to the island."
)


def _murmur(seconds: float) -> npt.NDArray[np.float32]:
    """Return noise that nobody would take for speech, the same every time."""
    noise = np.random.default_rng(7).standard_normal(round(seconds * MODEL_RATE_HZ))
    return (0.01 * noise).astype(np.float32)


SHIPPED = EngineRegistry(
    EngineContract(
        role=ASR,
        tensors=frozenset(
            (
                *("AUDIO", "DECODE", "PHRASE_HINTS", "PHRASE_BOOSTS", "ALTERNATIVES", "WORD_TIMES"),
                *("TRANSCRIPT", "IS_FINAL", "DECODED_SAMPLES", "COMPUTE_MS"),
                *("ALTERNATIVE_TEXTS", "ALTERNATIVE_CONFIDENCES", "WORDS", "WORD_SPANS"),
            )
        ),
        client=TritonRecognizer,
        prepare=TritonRecognizer.prepare,
        lease=LeasedRecognizer,
        probes=(SpeechProbe(_murmur(0.6)), SpeechProbe(_murmur(1.0))),
        heartbeat=SpeechProbe(_murmur(0.3)),
        read_example=read_speech,
        takes_sequences=True,
    ),
    EngineContract(
        role=INTENT_SLOT,
        tensors=frozenset(
            ("TEXT", "INTENT", "CONFIDENCE", "SLOT_NAMES", "SLOT_SPANS", "SLOT_VALUES", "COMPUTE_MS"),
        ),
        client=TritonIntents,
        probes=(
            IntentProbe("turn on the lights in the kitchen"),
            IntentProbe("What will the weather be like in Porto on Sunday?"),
            IntentProbe("hm"),
            IntentProbe("the treaty was signed in a railway carriage by people who did not trust each other"),
        ),
        heartbeat=IntentProbe("hm"),
        read_example=read_intent,
    ),
    EngineContract(
        role=QA,
        tensors=frozenset(("QUESTION", "DOCUMENT", "ANSWER_SPAN", "SCORE", "COMPUTE_MS")),
        client=TritonAnswers,
        probes=(
            AnswerProbe("When was the lighthouse built?", _DOCUMENT, labelled=False),
            AnswerProbe("Who composed the opera?", _DOCUMENT, labelled=False),
            AnswerProbe("Where did the electricity come from?", " ".join([_DOCUMENT] * 6), labelled=False),
        ),
        heartbeat=AnswerProbe("When does it leave?", "The ferry leaves at nine.", labelled=False),
        read_example=read_question,
    ),
    EngineContract(
        role=PUNCTUATION,
        tensors=frozenset(("TEXT", "PUNCTUATED")),
        client=TritonPunctuation,
        probes=(PunctuationProbe("hm"), PunctuationProbe("when does the ferry leave")),
        heartbeat=PunctuationProbe("hm"),
        read_example=read_punctuated,
        is_required=False,
    ),
    EngineContract(
        role=TTS,
        tensors=frozenset(("TEXT", "PHONEMES", "SPEED", "PAUSE_MS", "VOICE", "SEED", "AUDIO")),
        client=TritonSynthesizer,
        probes=(SynthesisProbe("Yes."), SynthesisProbe("The ferry leaves at nine, and comes back in the evening.")),
        heartbeat=SynthesisProbe("Yes."),
        read_example=read_spoken,
        is_required=False,
    ),
    EngineContract(
        role=END_OF_TURN,
        tensors=frozenset(("AUDIO", "TEXT", "PROBABILITY", "COMPUTE_MS")),
        client=TritonEndOfTurn,
        probes=(
            PauseProbe(_murmur(1.0), ""),
            PauseProbe(_murmur(3.0), "turn on the lights in the kitchen"),
            PauseProbe(_murmur(9.0), "turn on the lights in the"),
        ),
        heartbeat=PauseProbe(_murmur(0.02), ""),
        read_example=read_pause,
        is_required=False,
    ),
)

EMBEDDING = EngineContract(
    role=EMBED,
    tensors=frozenset(("TEXT", "EMBEDDING", "COMPUTE_MS")),
    client=TritonEmbeddings,
    probes=(EmbeddingProbe("When was the lighthouse built?"), EmbeddingProbe(_DOCUMENT)),
    heartbeat=EmbeddingProbe("hm"),
    is_required=False,
    # The vectors of a base are of one network: with another one, each base is to be built anew.
    has_versions=False,
)
"""The engine of searches in knowledge bases, which joins :data:`SHIPPED` where there are some."""
ON_DEMAND = frozenset((EMBEDDING.name,))
"""Models of the shipped repository that are loaded only where their engine is registered."""
