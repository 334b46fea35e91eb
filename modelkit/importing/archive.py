"""Reads tar archives of unknown makers: regular files alone, of sane sizes, and none outside of the archive."""

from __future__ import annotations

import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from modelkit.errors import CheckpointError

_MAX_BYTES = 4 << 30
_MAX_MEMBERS = 1000


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
        with tarfile.open(path, "r:*") as archive:
            files: dict[str, Path] = {}
            remaining = _MAX_BYTES
            for number, member in enumerate(archive):
                _check_member(path, member, number, remaining)
                remaining -= member.size
                content = archive.extractfile(member)
                if content is None:
                    continue
                target = files[str(PurePosixPath(member.name))] = scratch / str(number)
                with content, target.open("wb") as file:
                    shutil.copyfileobj(content, file)
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} does not exist: check its name") from error
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise CheckpointError(f"{path} is truncated or no tar archive ({error}): get it again") from error
    return files


def _check_member(path: Path, member: tarfile.TarInfo, number: int, remaining: int) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\\" in member.name:
        raise CheckpointError(f"{path} holds {member.name!r}, which lies outside of the archive: do not trust it")
    if not (member.isreg() or member.isdir()):
        raise CheckpointError(f"{path} holds {member.name!r}, which is a link or a device: do not trust it")
    if number >= _MAX_MEMBERS or member.size > remaining:
        raise CheckpointError(
            f"{path} would unpack to more than {_MAX_MEMBERS:,} files or {_MAX_BYTES >> 30} GiB at {member.name!r}: "
            "that is no network for intents or answers"
        )
