"""Packets of a track in their order, each as soon as it can be known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 3
"""Packets that may overtake a missing one, 60 ms, before it is taken for lost."""
_FAR = 1_000
"""Further off than that a number is of another stream."""
_NUMBERS = 1 << 16


class Packet(Protocol):
    """One packet of RTP."""

    sequence_number: int
    timestamp: int
    payload: bytes


class PacketOrder:
    """Hands packets on in their order; in place of aiortc's jitter buffer.

    That one holds each packet back for 80 ms, and after a lost one everything for 320. Recognition needs no even pace,
    so that nothing is held back here but what overtakes another packet.

    Args:
        hand_on: takes the packets that are next.
    """

    capacity = PATIENCE

    def __init__(self, hand_on: Callable[[Packet], None]) -> None:
        self._hand_on = hand_on
        self._next: int | None = None
        self._early: dict[int, Packet] = {}

    def add(self, packet: Packet) -> tuple[bool, None]:
        """Take a packet as it comes; the result tells aiortc to decode nothing."""
        number = packet.sequence_number
        ahead = 0 if self._next is None else (number - self._next) % _NUMBERS
        if self._next is None or _FAR < ahead < _NUMBERS - _FAR:
            self._early.clear()
            self._next, ahead = number, 0
        if ahead <= _FAR:
            self._early[number] = packet
        self._go_on()
        if len(self._early) > PATIENCE:
            self._next = min(self._early, key=lambda one: (one - (self._next or 0)) % _NUMBERS)
            self._go_on()
        return False, None

    def _go_on(self) -> None:
        while self._next is not None and (packet := self._early.pop(self._next, None)) is not None:
            self._next = (self._next + 1) % _NUMBERS
            self._hand_on(packet)
