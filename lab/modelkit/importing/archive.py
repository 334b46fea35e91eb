"""Reads tar archives of unknown makers: regular files alone, of sane sizes, and none outside of the archive."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from modelkit.errors import CheckpointError

_MAX_BYTES = 4 << 30
_MAX_HEADER_BYTES = 4 << 20
_MAX_MEMBERS = 1000
_GZIP = b"\x1f\x8b"


class _Unzipped(io.BufferedReader):
    """The bytes of an archive, of which no more are read than is allowed.

    How long a header is, tarfile takes from the archive, and reads all of it before it tells of a member.

    Attributes:
        allowed: bytes that may still be read.
    """

    allowed = _MAX_HEADER_BYTES

    def read(self, size: int | None = -1) -> bytes:
        """Reads so many bytes, or those that are left.

        Raises:
            CheckpointError: they are more than is allowed.
        """
        if size is None or not 0 <= size <= self.allowed:
            raise CheckpointError(
                f"{self.name} would unpack to more than {_MAX_HEADER_BYTES >> 20} MiB of headers: do not trust it"
            )
        content = super().read(size)
        self.allowed -= len(content)
        return content


def unpack(path: Path, scratch: Path) -> dict[str, Path]:
    """Unpacks an archive, gzipped or not, into files that are named by number, so that no name of its own is followed.

    Args:
        path: of the archive.
        scratch: an empty folder.

    Returns:
        For the name of each member, without ``./``, the file that holds its content.

    Raises:
        CheckpointError: the archive is damaged, or not to be trusted; the message names the member.
    """
    try:
        with _open(path) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            return _unpack(path, stream, archive, scratch)
    except CheckpointError:
        raise
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} does not exist: check its name") from error
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path} is truncated or no tar archive, plain or gzipped ({error}): get it again"
        ) from error


def _open(path: Path) -> _Unzipped:
    with path.open("rb") as file:
        zipped = file.read(len(_GZIP)) == _GZIP
    return _Unzipped(gzip.GzipFile(path) if zipped else io.FileIO(path))


def _unpack(path: Path, stream: _Unzipped, archive: tarfile.TarFile, scratch: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    remaining, number = _MAX_BYTES, 0
    while (member := archive.next()) is not None:
        # tarfile keeps all members, each with its own copy of what a header says of all that follow.
        archive.members.clear()  # type: ignore[attr-defined]
        _check_member(path, member, number, remaining)
        remaining -= member.size
        content = archive.extractfile(member)
        if content is not None:
            target = files[str(PurePosixPath(member.name))] = scratch / str(number)
            headers, stream.allowed = stream.allowed, member.size
            with content, target.open("wb") as file:
                shutil.copyfileobj(content, file)
            stream.allowed = headers
        number += 1
    return files


def _check_member(path: Path, member: tarfile.TarInfo, number: int, remaining: int) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\\" in member.name:
        raise CheckpointError(f"{path} holds {member.name!r}, which lies outside of the archive: do not trust it")
    if member.issparse() or not (member.isreg() or member.isdir()):
        raise CheckpointError(f"{path} holds {member.name!r}, which is sparse, a link or a device: do not trust it")
    if number >= _MAX_MEMBERS or not 0 <= member.size <= remaining:
        raise CheckpointError(
            f"{path} would unpack to more than {_MAX_MEMBERS:,} files or {_MAX_BYTES >> 30} GiB at {member.name!r}: "
            "that is no network for intents or answers"
        )
