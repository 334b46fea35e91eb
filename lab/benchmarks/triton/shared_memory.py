"""Inputs and outputs in memory that Triton shares, rather than in messages.

A region's name is removed as soon as Triton has opened it: however either side ends, the kernel frees the memory with
the last process. A client that is killed leaves its regions registered in Triton; the next one unregisters them.
"""

from __future__ import annotations

import itertools
import mmap
import os
import re
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from tritonclient.utils import (
    InferenceServerException,
    deserialize_bytes_tensor,
    serialize_byte_tensor,
    triton_to_np_dtype,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from benchmarks.triton.connection import Connection

_PREFIX = "vivavoce_bench_"
_SHARED_MEMORY = Path("/dev/shm")
_PAGE = mmap.PAGESIZE
_ALIGNMENT = 64
_CREDENTIALS = struct.Struct("3i")


class Region(Protocol):
    """Memory that both sides see.

    Attributes:
        name: under which Triton knows it.
        size: bytes.
    """

    name: str
    size: int

    def write(self, at: int, packed: npt.NDArray[np.uint8]) -> None:
        """Write bytes for Triton."""

    def read(self, at: int, size: int) -> npt.NDArray[np.uint8]:
        """Return bytes of Triton's, which last until the region is given back."""


@dataclass
class _SystemRegion:
    name: str
    size: int
    memory: npt.NDArray[np.uint8]

    def write(self, at: int, packed: npt.NDArray[np.uint8]) -> None:
        self.memory[at : at + packed.size] = packed

    def read(self, at: int, size: int) -> npt.NDArray[np.uint8]:
        return self.memory[at : at + size]


class SystemMemory:
    """POSIX shared memory of Triton's machine.

    Args:
        address: Triton's address. Behind a Unix socket its own `/dev/shm` is found, as each of our services gives its
            Triton one.
    """

    def __init__(self, address: str) -> None:
        self._folder = shared_memory_of(address)

    async def sweep(self, connection: Connection) -> None:
        """Remove what benchmarks have left that were killed."""
        known = await connection.regions.get_system_shared_memory_status()
        names = known.regions if hasattr(known, "regions") else [region["name"] for region in known]
        for name in filter(_is_left, names):
            # One that a request of the dead is still computed from is left to the next benchmark.
            with suppress(InferenceServerException):
                await connection.regions.unregister_system_shared_memory(name)
        for file in filter(lambda file: _is_left(file.name), self._folder.glob(f"{_PREFIX}*")):
            file.unlink(missing_ok=True)

    async def make(self, connection: Connection, name: str, size: int) -> Region:
        """Make a region that only this user can open, and have Triton open it."""
        path = self._folder / name
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(file, size)
            memory = np.frombuffer(mmap.mmap(file, size), np.uint8)
            await connection.regions.register_system_shared_memory(name, f"/{name}", size)
        finally:
            os.close(file)
            path.unlink()
        return _SystemRegion(name, size, memory)

    async def remove(self, connection: Connection, region: Region) -> None:
        """Have Triton close a region."""
        await connection.regions.unregister_system_shared_memory(region.name)


@dataclass
class _CudaRegion:
    name: str
    size: int
    handle: Any
    library: Any

    def write(self, at: int, packed: npt.NDArray[np.uint8]) -> None:
        self.library.set_shared_memory_region(self.handle, [packed], offset=at)

    def read(self, at: int, size: int) -> npt.NDArray[np.uint8]:
        found: npt.NDArray[np.uint8] = self.library.get_contents_as_numpy(self.handle, np.uint8, [size], offset=at)
        return found


class CudaMemory:
    """Memory of a GPU that Triton uses, too.

    Raises:
        ValueError: there is no GPU, or not the library for it.
    """

    def __init__(self) -> None:
        try:
            import tritonclient.utils.cuda_shared_memory as library  # noqa: PLC0415 - only where there is a GPU
        except (ImportError, RuntimeError) as error:
            raise ValueError(
                "memory of a GPU needs the package cuda-python and a GPU: install it, or use --shared-memory system"
            ) from error
        self._library = library

    async def sweep(self, connection: Connection) -> None:
        """Unregister what benchmarks have left that were killed."""
        known = await connection.regions.get_cuda_shared_memory_status()
        names = known.regions if hasattr(known, "regions") else [region["name"] for region in known]
        for name in filter(_is_left, names):
            with suppress(InferenceServerException):
                await connection.regions.unregister_cuda_shared_memory(name)

    async def make(self, connection: Connection, name: str, size: int) -> Region:
        """Make a region on the first GPU, and have Triton open it."""
        handle = self._library.create_shared_memory_region(name, size, 0)
        await connection.regions.register_cuda_shared_memory(name, self._library.get_raw_handle(handle), 0, size)
        return _CudaRegion(name, size, handle, self._library)

    async def remove(self, connection: Connection, region: Region) -> None:
        """Have Triton close a region, and free it."""
        await connection.regions.unregister_cuda_shared_memory(region.name)
        assert isinstance(region, _CudaRegion)
        self._library.destroy_shared_memory_region(region.handle)


@dataclass
class Placed:
    """A request's place in a region, until it is answered."""

    region: Region
    packed: Mapping[str, npt.NDArray[np.uint8]]
    starts: Mapping[str, int]
    output_starts: Mapping[str, int]
    output_bytes: int
    free: list[Region]

    def write(self, name: str, tensor: Any) -> None:  # noqa: ANN401 - untyped library
        """Write an input, and have the request name it."""
        packed, at = self.packed[name], self.starts[name]
        self.region.write(at, packed)
        tensor.set_shared_memory(self.region.name, packed.size, offset=at)

    def wanted(self, connection: Connection) -> list[Any] | None:
        """Return the outputs that are wanted here; None where they come in the message."""
        wanted = []
        for name, at in self.output_starts.items():
            output = connection.output(name)
            output.set_shared_memory(self.region.name, self.output_bytes, offset=at)
            wanted.append(output)
        return wanted or None

    def read(self, name: str, datatype: str, shape: Sequence[int]) -> npt.NDArray[Any]:
        """Return an output."""
        return unpack(self.region.read(self.output_starts[name], self.output_bytes), datatype, shape)

    def give_back(self) -> None:
        """Let the next request have the region."""
        self.free.append(self.region)


class Regions:
    """The regions of one connection; a request has one for itself until it is answered.

    Args:
        connection: to the Triton that opens them.
        memory: makes them.
        output_bytes: room for each output of a request; 0 leaves outputs in the message.
    """

    def __init__(self, connection: Connection, memory: SystemMemory | CudaMemory, output_bytes: int) -> None:
        self._connection = connection
        self._memory = memory
        self._output_bytes = output_bytes
        self._free: list[Region] = []
        self._made: list[Region] = []
        self._numbers = itertools.count()

    async def place(
        self, values: Mapping[str, npt.NDArray[Any]], types: Mapping[str, str], outputs: Sequence[str]
    ) -> Placed:
        """Return a place for a request's inputs and outputs.

        Args:
            values: its inputs.
            types: their datatypes.
            outputs: names of the model's outputs.
        """
        packed = {name: pack(array, types[name]) for name, array in values.items()}
        sizes = {name: array.size for name, array in packed.items()}
        starts, at = offsets(sizes)
        room = dict.fromkeys(outputs, self._output_bytes) if self._output_bytes else {}
        output_starts, size = offsets(room, at)
        region = await self._take(size)
        return Placed(region, packed, starts, output_starts, self._output_bytes, self._free)

    async def _take(self, size: int) -> Region:
        for number, region in enumerate(self._free):
            if region.size >= size:
                return self._free.pop(number)
        name = f"{_PREFIX}{os.getpid()}_{next(self._numbers)}"
        region = await self._memory.make(self._connection, name, -(-size // _PAGE) * _PAGE)
        self._made.append(region)
        return region

    async def open(self) -> None:
        """Remove what earlier benchmarks have left."""
        await self._memory.sweep(self._connection)

    async def close(self) -> None:
        """Have Triton close every region."""
        for region in self._made:
            await self._memory.remove(self._connection, region)


def open_regions(connection: Connection, address: str, kind: str, output_bytes: int) -> Regions | None:
    """Return the regions of a connection, None for the kind `none`.

    Raises:
        ValueError: there is no such memory here; the message tells why.
    """
    if kind == "none":
        return None
    return Regions(connection, CudaMemory() if kind == "cuda" else SystemMemory(address), output_bytes)


def shared_memory_of(address: str) -> Path:
    """Return the folder of the shared memory of the Triton at an address of this machine.

    Raises:
        ValueError: its shared memory cannot be reached from here.
    """
    if not address.startswith("unix:"):
        return _SHARED_MEMORY
    with socket.socket(socket.AF_UNIX) as peer:
        try:
            peer.connect(address.removeprefix("unix:"))
        except OSError as error:
            raise ValueError(f"nobody listens at {address} ({error.strerror}): start a Triton there") from error
        pid, _, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    folder = Path("/proc", str(pid), "root", *_SHARED_MEMORY.parts[1:])
    if not os.access(folder, os.W_OK):
        raise ValueError(f"the shared memory of the Triton at {address} is closed to this account: run as its user")
    return folder


def pack(values: npt.NDArray[Any], datatype: str) -> npt.NDArray[np.uint8]:
    """Return a tensor's bytes as Triton has them, uint8 `[bytes]`."""
    if datatype == "BYTES":
        packed = serialize_byte_tensor(values)
        return np.frombuffer(packed.item() if packed.size else b"", np.uint8)
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def unpack(packed: npt.NDArray[np.uint8], datatype: str, shape: Sequence[int]) -> npt.NDArray[Any]:
    """Return a tensor from its bytes; more may follow them."""
    count = int(np.prod(shape))
    if datatype != "BYTES":
        return np.frombuffer(packed, triton_to_np_dtype(datatype), count).reshape(shape)
    size = 0
    for _ in range(count):
        size += 4 + int.from_bytes(packed[size : size + 4].tobytes(), "little")
    texts: npt.NDArray[Any] = deserialize_bytes_tensor(packed[:size].tobytes())
    return texts.reshape(shape)


def offsets(sizes: Mapping[str, int], at: int = 0) -> tuple[dict[str, int], int]:
    """Return where each of several tensors begins in a region, from `at` on, and where the last one ends."""
    starts = {}
    for name, size in sizes.items():
        starts[name] = at
        at += -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
    return starts, at


def _is_left(name: str) -> bool:
    """Whether a region's maker has ended."""
    found = re.fullmatch(rf"{_PREFIX}(\d+)_\d+", name)
    if found is None:
        return False
    with suppress(PermissionError):
        try:
            os.kill(int(found[1]), 0)
        except ProcessLookupError:
            return True
    return False
