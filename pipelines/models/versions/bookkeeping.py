"""Life cycle of an engine's versions, as a pure state machine.

::

    load ──▶ LOADING ──▶ ACTIVE ──▶ READY ──▶ DRAINING ──▶ (gone)
                │           ▲         │           ▲
                ▼           └─────────┘           │
              FAILED         roll back     ACTIVE, rolled back

One version is ACTIVE at any time. READY is the one before it, kept for rolling back; when the next version takes over,
the one before that is DRAINING until no turn uses it. Of the versions that FAILED the last one is remembered.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass

from pipelines.errors import RolloutRefusedError


class Phase(enum.Enum):
    """State of a version."""

    LOADING = "LOADING"
    READY = "READY"
    ACTIVE = "ACTIVE"
    DRAINING = "DRAINING"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an engine.

    Attributes:
        engine: the engine's name.
        number: counts the engine's versions, from 1 for the one that the service began with.
        source: where its files came from.
        phase: what it is doing.
        since: when that began, in seconds since 1970.
        reason: why it failed; "" unless it did.
    """

    engine: str
    number: int
    source: str
    phase: Phase
    since: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of one engine, oldest first; methods return the next state."""

    engine: str
    known: tuple[Version, ...]

    @classmethod
    def initial(cls, engine: str, source: str, at: float) -> Versions:
        """Version 1 serves from the beginning."""
        return cls(engine, (Version(engine, 1, source, Phase.ACTIVE, at),))

    @property
    def active(self) -> Version:
        """The one that turns begin with."""
        return next(version for version in self.known if version.phase is Phase.ACTIVE)

    def find(self, number: int) -> Version:
        """Return a version by its number.

        Raises:
            RolloutRefusedError: there is no such version.
        """
        for version in self.known:
            if version.number == number:
                return version
        held = ", ".join(str(version.number) for version in self.known)
        raise RolloutRefusedError("UNKNOWN_VERSION", f"{self.engine} has no version {number}: it has {held}")

    def in_phase(self, phase: Phase) -> tuple[Version, ...]:
        """Return the versions that do the same, the oldest first."""
        return tuple(version for version in self.known if version.phase is phase)

    def begin_load(self, number: int, source: str, at: float) -> Versions:
        """Add a loading version; ``number`` is the largest so far."""
        loading = Version(self.engine, number, source, Phase.LOADING, at)
        return Versions(self.engine, (*self.known, loading))

    def activate(self, number: int, at: float) -> Versions:
        """Activate a loaded version; keep the last active one, drain older ones."""
        drained = _each(self.known, Phase.READY, Phase.DRAINING, at)
        kept = _each(drained, Phase.ACTIVE, Phase.READY, at)
        return Versions(self.engine, _one(kept, number, Phase.ACTIVE, at))

    def fail(self, number: int, reason: str, at: float) -> Versions:
        """Give up a loading version; it stays listed until the next failure."""
        kept = tuple(version for version in self.known if version.phase is not Phase.FAILED)
        return Versions(self.engine, _one(kept, number, Phase.FAILED, at, reason))

    def roll_back(self, at: float) -> Versions:
        """Activate the version before; drain the active one.

        Raises:
            RolloutRefusedError: no version is kept ready.
        """
        ready = self.in_phase(Phase.READY)
        if not ready:
            message = (
                f"{self.engine} has no version to roll back to: version {self.active.number} is the only one loaded"
            )
            raise RolloutRefusedError("NOTHING_TO_ROLL_BACK_TO", message)
        drained = _each(self.known, Phase.ACTIVE, Phase.DRAINING, at)
        return Versions(self.engine, _one(drained, ready[-1].number, Phase.ACTIVE, at))

    def unload(self, number: int, at: float) -> Versions:
        """Drain the version that was kept ready, or forget one that failed.

        Raises:
            RolloutRefusedError: there is no such version, or turns need it, or it is on its way already.
        """
        phase = self.find(number).phase
        name = f"version {number} of {self.engine}"
        if phase is Phase.ACTIVE:
            message = f"{name} is the active one: load another version or roll back before it is unloaded"
            raise RolloutRefusedError("VERSION_ACTIVE", message)
        if phase is Phase.LOADING:
            raise RolloutRefusedError("LOAD_UNDER_WAY", f"{name} is being loaded: wait for it, or end that command")
        if phase is Phase.DRAINING:
            raise RolloutRefusedError("VERSION_DRAINING", f"{name} is being unloaded already: its last turns run")
        if phase is Phase.FAILED:
            return self.forget(number)
        return Versions(self.engine, _one(self.known, number, Phase.DRAINING, at))

    def forget(self, number: int) -> Versions:
        """Drop a version that is gone."""
        return Versions(self.engine, tuple(version for version in self.known if version.number != number))


def _each(known: tuple[Version, ...], phase: Phase, becomes: Phase, at: float) -> tuple[Version, ...]:
    """Move every version that is in ``phase`` on to another one."""
    return tuple(
        dataclasses.replace(version, phase=becomes, since=at) if version.phase is phase else version
        for version in known
    )


def _one(known: tuple[Version, ...], number: int, becomes: Phase, at: float, reason: str = "") -> tuple[Version, ...]:
    """Move one version on to another phase."""
    return tuple(
        dataclasses.replace(version, phase=becomes, since=at, reason=reason) if version.number == number else version
        for version in known
    )
