"""Managing the models of a server, without asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from vivavoce._client import DEFAULT_TARGET
from vivavoce._models import ModelAdmin as AsyncModelAdmin
from vivavoce.sync._background import background

if TYPE_CHECKING:
    from pathlib import PurePath
    from types import TracebackType

    from typing_extensions import Self

    from vivavoce._models import ModelVersion


class ModelAdmin:
    """Lists, loads, unloads and rolls back the versions of a server's engines.

    To be used as `with vivavoce.sync.ModelAdmin(...) as models`, as `vivavoce.ModelAdmin` is.

    Args:
        target: The server's socket for that, `unix:/PATH`; or its address, `HOST:PORT`, where the socket has its
            default path.
        connect_timeout_seconds: How long a call waits for the connection.
        load_timeout_seconds: How long a version may take to be loaded and tried out.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        connect_timeout_seconds: float = 5.0,
        load_timeout_seconds: float = 300.0,
    ) -> None:
        self._models = AsyncModelAdmin(
            target,
            connect_timeout_seconds=connect_timeout_seconds,
            load_timeout_seconds=load_timeout_seconds,
        )
        self._open = False

    def __enter__(self) -> Self:
        background.run(self._models.__aenter__())
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open = False
        background.run(self._models.__aexit__(kind, error, traceback))

    def __aenter__(self) -> NoReturn:
        raise TypeError("This one is not asynchronous: write `with`, or `async with vivavoce.ModelAdmin(...)`.")

    def __aexit__(self, *_error: object) -> NoReturn:
        raise TypeError("This one is not asynchronous: write `with`.")

    def list(self) -> list[ModelVersion]:
        """List all versions, engine by engine, the oldest first.

        Raises:
            VivavoceError: One of its kinds; so do the other methods.
        """
        return background.run(self._opened().list())

    def load(self, path: PurePath | str) -> ModelVersion:
        """Load an engine directory as a new version, which serves turns from then on.

        Args:
            path: Absolute path of the directory on the server.

        Returns:
            The new version, active now. When it fails, or when this call is interrupted, everything stays as it was.
        """
        return background.run(self._opened().load(path))

    def unload(self, name: str, version: int) -> None:
        """Unload an inactive version once it is unused, or forget one that failed."""
        background.run(self._opened().unload(name, version))

    def roll_back(self, name: str) -> ModelVersion:
        """Let the version before the active one take over again.

        Returns:
            The version that serves now.
        """
        return background.run(self._opened().roll_back(name))

    def _opened(self) -> AsyncModelAdmin:
        if not self._open:
            raise RuntimeError("It is not open; use it inside `with vivavoce.sync.ModelAdmin(...) as models`.")
        return self._models
