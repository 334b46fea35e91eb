"""Knowledge bases of the documents in agents' folders, built at the start."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.knowledge.store.port import KnowledgeStoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

logger = logging.getLogger(__name__)

KNOWLEDGE = "knowledge"
"""Folder of an agent's documents."""
BUILT = "knowledge.db"
"""File beside it, where the base was built ahead."""
MAX_BUILD_SECONDS = 120.0
"""More documents than can be built in this time are to be built ahead."""
_MAX_TOLD_CHARACTERS = 500


async def agent_bases(
    folders: Sequence[Path], named: Collection[str], model_repository: Path | None, environment: Mapping[str, str]
) -> dict[str, Path]:
    """Return the bases of the agents that have documents, by the agents' names.

    A base that was built ahead is taken as it is. Others are built into the user's cache, by a process of their own;
    one whose documents have not changed is not built again.

    Args:
        folders: of the agents.
        named: agents whose bases are given otherwise.
        model_repository: models for the embeddings; None: the shipped ones.
        environment: tells where the cache is.

    Raises:
        KnowledgeStoreError: documents cannot be built; the message says what to do.
        AgentError: an agent cannot be read.
    """
    with_documents = [folder for folder in folders if (folder / KNOWLEDGE).is_dir()]
    if not with_documents:
        return {}
    # Reading agents needs pydantic, which takes time and memory that other services are spared.
    from pipelines.dialog.agent.folder import read_agent  # noqa: PLC0415

    bases: dict[str, Path] = {}
    for folder in with_documents:
        name = read_agent(folder).form.name
        if name in named:
            continue
        ahead = folder / BUILT
        bases[name] = ahead if ahead.is_file() else await _in_cache(folder, name, model_repository, environment)
    return bases


async def _in_cache(folder: Path, name: str, model_repository: Path | None, environment: Mapping[str, str]) -> Path:
    base = _place(folder, name, environment)
    stamp = base.with_suffix(".stamp")
    content = _look_of(folder / KNOWLEDGE)
    try:
        if base.is_file() and stamp.is_file() and stamp.read_text("utf-8") == content:
            return base
        base.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _not_built(folder, f"{base.parent} cannot be written") from error
    logger.info("agent %s: building its documents", name)
    await _build(folder, base, model_repository)
    stamp.write_text(content, "utf-8")
    return base


async def _build(folder: Path, base: Path, model_repository: Path | None) -> None:
    # Of its own: embedding takes memory and threads that the service does without afterwards.
    models = ("--model-repository", str(model_repository)) if model_repository is not None else ()
    command = ("-m", "vivavoce", "knowledge", "build", str(folder / KNOWLEDGE), "--out", str(base), *models)
    builder = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(MAX_BUILD_SECONDS):
            _, told = await builder.communicate()
    except TimeoutError as error:
        raise _not_built(folder, f"it takes more than {MAX_BUILD_SECONDS:g} s") from error
    finally:
        if builder.returncode is None:
            builder.kill()
            await builder.wait()
    text = " ".join(told.decode(errors="replace").split())[-_MAX_TOLD_CHARACTERS:]
    if builder.returncode != 0:
        raise _not_built(folder, text or f"status {builder.returncode}")
    if text:
        logger.warning("documents of %s: %s", folder, text)


def _not_built(folder: Path, why: str) -> KnowledgeStoreError:
    return KnowledgeStoreError(
        f"the documents in {folder / KNOWLEDGE} cannot be built ({why}): build them ahead with `vivavoce knowledge "
        f"build {folder / KNOWLEDGE} --out {folder / BUILT}`"
    )


def _place(folder: Path, name: str, environment: Mapping[str, str]) -> Path:
    """Return where the base of an agent is in the cache."""
    given = environment.get("XDG_CACHE_HOME", "")
    cache = Path(given) if given else Path("~/.cache").expanduser()
    mark = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    return cache / "vivavoce/knowledge" / f"{name}-{mark}.db"


def _look_of(folder: Path) -> str:
    """Return what shows that no document has changed: names, sizes and times."""
    # Readers of documents take time and memory that services without agents' documents are spared.
    from pipelines.knowledge.reading.formats import is_readable  # noqa: PLC0415

    files = sorted(path for path in folder.rglob("*") if path.is_file() and is_readable(path.name))
    stats = [(path, path.stat()) for path in files]
    return "\n".join(f"{path.relative_to(folder)} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats)
