"""Checks of arguments: newcomers' mistakes, each refused with its cure.

What has the wrong type is a `TypeError`, what has the wrong value an `InvalidRequest`.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from vivavoce._config import (
    AudioFormat,
    ConversationUpdate,
    Document,
    Encoding,
    EndOfUtterance,
    Endpointing,
    EndpointingMode,
    Patience,
    PhraseHints,
    TypedTurn,
)
from vivavoce._errors import InvalidRequest
from vivavoce._recording import Recording

if TYPE_CHECKING:
    from numpy.typing import NDArray

_T = TypeVar("_T")

MAX_FLOAT_SAMPLE = 4.0
"""Loudest float sample that is taken: 12 dB over full scale. More is audio in another unit, such as 16-bit values."""

_CURES = {
    "int32": "write `(samples >> 16).astype(np.int16)` if it fills 32 bits, `samples.astype(np.int16)` if it fills 16",
    "int64": "write `samples.astype(np.int16)` if it fills 16 bits",
    "uint8": "write `samples.tobytes()` for encoded audio",
}
_RAW_ENCODINGS = {Encoding.LINEAR_PCM, Encoding.LINEAR_PCM_FLOAT32, Encoding.MULAW, Encoding.ALAW}
_GRPC_SCHEMES = {"dns", "ipv4", "ipv6", "passthrough", "unix", "unix-abstract", "vsock", "xds"}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)")
_HOST_ALONE = re.compile(r"[^:/\[\]]+|\[[^\]]*\]")
_DEFAULT_PORT = 50051


def check_target(target: str) -> str:
    """Return the address of a server as it is.

    Raises:
        TypeError: It is no string.
        InvalidRequest: It is a URL, or has no port.
    """
    if not isinstance(target, str):
        raise TypeError(f"The address of a server is a str such as 'localhost:50051', not {_kind(target)}.")
    url = _URL.match(target)
    if url is not None and url[1].lower() not in _GRPC_SCHEMES:
        host = url[2] or "localhost"
        address = f"{host}:{_DEFAULT_PORT}" if _HOST_ALONE.fullmatch(host) else host
        raise InvalidRequest(f"The address {target!r} is a URL; write HOST:PORT, such as {address!r}.", field="target")
    if _HOST_ALONE.fullmatch(target) or not target:
        address = f"{target or 'localhost'}:{_DEFAULT_PORT}"
        raise InvalidRequest(f"The address {target!r} has no port; write {address!r}.", field="target")
    return target


def check_source(source: _T, audio: AudioFormat | None) -> _T:
    """Return what is said in a conversation as it is.

    Raises:
        TypeError: It is no iterable of what can be said.
    """
    match source:
        case Recording():
            cure = "pass `recording.chunks()`, or `vivavoce.pace(recording.chunks(), recording.sample_rate_hz)`"
        case str() | os.PathLike():
            cure = "pass `vivavoce.read_audio(path).chunks()`, and its `format` as `audio`"
        case np.ndarray(ndim=2):
            cure = "put it into a list: `[audio]`, or `list(audio)` if each of its rows is a chunk"
        case bytes() | bytearray() | memoryview() | np.ndarray():
            cure = "put it into a list: `[audio]`"
        case EndOfUtterance() | TypedTurn() | ConversationUpdate():
            cure = "put it into a list: `[turn]`"
        case io.TextIOBase():
            cure = "open the file with mode 'rb'"
        case io.IOBase() if not _is_compressed(audio):
            cure = "pass `vivavoce.read_audio(file).chunks()`, or read raw audio in pieces of whole samples"
        case AsyncIterable() | Iterable():
            return source
        case _ if callable(source):
            cure = "call the function: `converse(speech())`"
        case _:
            cure = "pass a list, a generator or an asynchronous generator"
    raise TypeError(f"What is said is an iterable of chunks, not {_kind(source)}; {cure}.")


def check_format(audio: AudioFormat | None) -> None:
    """Check the type of an audio format.

    Raises:
        TypeError: It is wrong.
    """
    if audio is not None and not isinstance(audio, AudioFormat):
        raise TypeError(f"audio is `vivavoce.AudioFormat(sample_rate_hz=...)` or None, not {_kind(audio)}.")
    if audio is not None and not isinstance(audio.encoding, Encoding):
        kind = _kind(audio.encoding)
        raise TypeError(f"AudioFormat.encoding is a `vivavoce.Encoding`, such as Encoding.LINEAR_PCM, not {kind}.")


def check_endpointing(endpointing: Endpointing | None) -> None:
    """Check the type of an endpointing.

    Raises:
        TypeError: It is wrong.
    """
    if endpointing is not None and not isinstance(endpointing, Endpointing):
        raise TypeError(f"endpointing is `vivavoce.Endpointing(...)` or None, not {_kind(endpointing)}.")
    if endpointing is not None and not isinstance(endpointing.mode, EndpointingMode | None):
        kind = _kind(endpointing.mode)
        raise TypeError(f"Endpointing.mode is a `vivavoce.EndpointingMode`, such as EndpointingMode.MODEL, not {kind}.")
    if endpointing is not None and not isinstance(endpointing.patience, Patience | None):
        kind = _kind(endpointing.patience)
        raise TypeError(f"Endpointing.patience is a `vivavoce.Patience`, such as Patience.EAGER, not {kind}.")


def check_hints(phrase_hints: Iterable[PhraseHints]) -> list[PhraseHints]:
    """Return phrase hints as a list.

    Raises:
        TypeError: It holds something else, or is not iterable.
    """
    if isinstance(phrase_hints, str | PhraseHints):
        raise TypeError(f"phrase_hints is a list: write {_hint_in_a_list(phrase_hints)}.")
    listed = list(phrase_hints)
    for group in listed:
        if not isinstance(group, PhraseHints):
            raise TypeError(f"phrase_hints holds `vivavoce.PhraseHints`: write {_hint_in_a_list(group)}.")
        if isinstance(group.phrases, str):
            raise TypeError("PhraseHints.phrases is a tuple: write `vivavoce.PhraseHints((phrase,))`.")
    return listed


def check_seconds(name: str, seconds: float) -> float:
    """Return a time as it is.

    Raises:
        TypeError: It is no number.
    """
    if not isinstance(seconds, Real):
        raise TypeError(f"{name} is a number of seconds, not {_kind(seconds)}.")
    return seconds


def check_documents(documents: Iterable[Document | str]) -> list[Document | str]:
    """Return documents as a list.

    Raises:
        TypeError: It is one document, or holds something else.
    """
    if isinstance(documents, str | Document):
        raise TypeError("documents is a list of texts: write `documents=[text]`.")
    if isinstance(documents, os.PathLike):
        raise TypeError("documents is a list of texts: write `documents=[path.read_text()]`.")
    if not isinstance(documents, Iterable):
        raise TypeError(f"documents is a list of texts, not {_kind(documents)}.")
    listed = list(documents)
    for document in listed:
        if isinstance(document, os.PathLike):
            raise TypeError("A document is a text, not its path: write `path.read_text()`.")
        if not isinstance(document, str | Document):
            raise TypeError(f"A document is a str or a `vivavoce.Document`, not {_kind(document)}.")
        if isinstance(document, Document) and not isinstance(document.text, str):
            raise TypeError(f"The text of a `vivavoce.Document` is a str, not {_kind(document.text)}.")
    return listed


def check_text(text: str) -> None:
    """Check that a typed turn is a text.

    Raises:
        TypeError: It is not.
    """
    if not isinstance(text, str | bytes):
        raise TypeError(f"The text of a typed turn is a str, not {_kind(text)}.")


def check_samples(chunk: object, audio: AudioFormat) -> NDArray[np.generic]:
    """Return a chunk as the array of samples that it is.

    Raises:
        TypeError: It is none, or its samples are of a type of which the full scale is not known.
        InvalidRequest: Its shape contradicts the format's channels, or its samples are far too loud.
    """
    if not isinstance(chunk, np.ndarray):
        raise TypeError(f"Audio is bytes, or an array of float32 or int16, not {_kind(chunk)}; {_cure_of(chunk)}.")
    if chunk.dtype != np.int16 and chunk.dtype.kind != "f":
        raise TypeError(f"Audio is an array of float32 or int16, not of {chunk.dtype}; {_cure_of(chunk)}.")
    _check_shape(chunk, audio.channel_count or 1)
    if chunk.dtype.kind == "f":
        _check_loudness(chunk)
    return chunk


def _check_shape(samples: NDArray[np.generic], channel_count: int) -> None:
    channels = 1 if samples.ndim == 1 else samples.shape[1] if samples.ndim == 2 else 0
    if channels == channel_count:
        return
    shape = list(samples.shape)
    if samples.ndim == 2 and samples.shape[0] == channel_count:
        cure = "transpose it: `samples.T`"
    elif samples.ndim == 1:
        cure = f"interleaved samples are `samples.reshape(-1, {channel_count})`, mono is channel_count=1"
    else:
        cure = f"send arrays of shape [n, {channel_count}], or change channel_count"
    message = f"The audio has the shape {shape}, and AudioFormat.channel_count is {channel_count}; {cure}."
    raise InvalidRequest(message, field="audio")


def _check_loudness(samples: NDArray[np.generic]) -> None:
    peak = max(float(samples.max(initial=0.0)), -float(samples.min(initial=0.0)))
    if peak > MAX_FLOAT_SAMPLE and np.isfinite(peak):
        message = (
            f"The audio has float samples of up to {peak:g}, and full scale is 1; divide 16-bit values by 32768, "
            "or send them as int16."
        )
        raise InvalidRequest(message, field="audio")


def _cure_of(chunk: object) -> str:
    match chunk:
        case Recording():
            cure = "pass its chunks: `recording.chunks()`"
        case os.PathLike():
            cure = "pass `vivavoce.read_audio(path).chunks()`"
        case str():
            cure = "write `vivavoce.TypedTurn(text)` for a typed turn, `vivavoce.read_audio(path).chunks()` for a file"
        case type():
            cure = f"write `{chunk.__name__}()`"
        case np.ndarray():
            cure = _CURES.get(chunk.dtype.name, "scale it to -1 to 1 as float32")
        case _:
            cure = "write `np.asarray(samples, np.float32)`"
    return cure


def _hint_in_a_list(hint: object) -> str:
    return "`[hints]`" if isinstance(hint, PhraseHints) else '`[vivavoce.PhraseHints(("a phrase",))]`'


def _is_compressed(audio: AudioFormat | None) -> bool:
    return isinstance(audio, AudioFormat) and audio.encoding not in _RAW_ENCODINGS


def _kind(something: object) -> str:
    if something is None:
        return "None"
    name = type(something).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def check_variants(variants: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the chosen engines by role; none for None.

    Raises:
        TypeError: They are no mapping of texts.
    """
    if variants is None:
        return {}
    texts = isinstance(variants, Mapping) and all(isinstance(one, str) for pair in variants.items() for one in pair)
    if not texts:
        raise TypeError('variants must map roles to names, such as {"intent_slot": "bar"}')
    return variants


def check_knowledge(names: Sequence[str]) -> Sequence[str]:
    """Return the names of knowledge bases.

    Raises:
        TypeError: They are no list of texts.
    """
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError('knowledge is a list of names: write `knowledge=["museum"]`.')
    return names
