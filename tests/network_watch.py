"""Run a command, and report every look-up and connection that it sends beyond loopback.

    python -m tests.network_watch [--report FILE] COMMAND ARGUMENT…

The command runs in a network namespace of its own. Its loopback interface takes packets for every address, so that
what would leave the machine is seen here, refused at once, and reaches nobody. The exit status is that of the command,
or 3 if it succeeded but sent something.

Takes root, or a Linux that lets users make namespaces.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import ipaddress
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SENT_SOMETHING = 3
"""Exit status of a command that succeeded, but sent something."""

_CLONE_NEWUSER, _CLONE_NEWNET = 0x1000_0000, 0x4000_0000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_RTM_NEWROUTE, _NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_CREATE, _NLMSG_ERROR = 24, 0x1, 0x4, 0x400, 2
_RT_TABLE_LOCAL, _RTPROT_BOOT, _RT_SCOPE_HOST, _RTN_LOCAL, _RTA_OIF = 255, 3, 254, 2, 4
_ETH_P_IP, _ETH_P_IPV6 = 0x0800, 0x86DD
_SO_ATTACH_FILTER = 26
_LOAD_BYTE, _LOAD_WORD, _IF_EQUAL = 0x30, 0x20, 0x15
_DROP, _TAKE = (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFF)
"""Instructions of the classic Berkeley packet filter: code, jumps where true and false, operand."""
_TCP, _UDP = 6, 17
_DNS_PORT = 53


class NoNamespaceError(OSError):
    """This system gives the caller no network namespace."""


@dataclass(slots=True)
class Watch:
    """What was sent beyond loopback; each line once, with how often it was seen."""

    seen: dict[str, int] = field(default_factory=dict)

    def add(self, packet: bytes) -> None:
        """Count an IP packet, unless it only answers another one."""
        said = _describe(packet)
        if said is not None:
            self.seen[said] = self.seen.get(said, 0) + 1


def enter_namespace() -> None:
    """Move this process, which must have one thread, into a network namespace whose loopback takes every address.

    Raises:
        NoNamespaceError: the system does not allow it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    flags = _CLONE_NEWNET if user == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    if libc.unshare(flags):
        raise NoNamespaceError(f"no network namespace can be made here: {os.strerror(ctypes.get_errno())}")
    if user:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    index = socket.if_nametoindex("lo")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        _, bits = struct.unpack("16sH14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", bits | _IFF_UP))
    _take_every_address(socket.AF_INET, index)
    with contextlib.suppress(OSError):  # a system without IPv6
        _take_every_address(socket.AF_INET6, index)


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    """Watch the loopback interface of this namespace while the body runs."""
    watch = Watch()
    sniffers = [_sniffer(_ETH_P_IP), _sniffer(_ETH_P_IPV6)]
    over_reader, over_writer = os.pipe()

    def read() -> None:
        while True:
            ready, _, _ = select.select([*sniffers, over_reader], [], [])
            for one in ready:
                if one is over_reader:
                    continue
                watch.add(one.recv(2048))
            if ready == [over_reader]:
                return

    thread = threading.Thread(target=read, name="network watch")
    thread.start()
    try:
        yield watch
    finally:
        os.write(over_writer, b"x")
        thread.join()
        os.close(over_reader)
        os.close(over_writer)
        for one in sniffers:
            one.close()


def _take_every_address(family: socket.AddressFamily, index: int) -> None:
    """Add the route ``local default dev lo`` (rtnetlink(7))."""
    attributes = struct.pack("=HHI", 8, _RTA_OIF, index)
    route = struct.pack("=BBBBBBBBI", family, 0, 0, 0, _RT_TABLE_LOCAL, _RTPROT_BOOT, _RT_SCOPE_HOST, _RTN_LOCAL, 0)
    flags = _NLM_F_REQUEST | _NLM_F_ACK | _NLM_F_CREATE
    size = 16 + len(route) + len(attributes)
    message = struct.pack("=IHHII", size, _RTM_NEWROUTE, flags, 1, 0) + route + attributes
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.bind((0, 0))
        netlink.send(message)
        answer = netlink.recv(4096)
    _, kind = struct.unpack_from("=IH", answer)
    error = struct.unpack_from("=i", answer, 16)[0]
    if kind != _NLMSG_ERROR or error:
        raise OSError(-error, f"no route to every address: {os.strerror(-error)}")


def _sniffer(protocol: int) -> socket.socket:
    """Open a socket that gets every packet of one protocol that is not for loopback or multicast, IP header first."""
    if protocol == _ETH_P_IP:
        # Drop what is for 127.0.0.0/8.
        program = [(_LOAD_BYTE, 0, 0, 16), (_IF_EQUAL, 0, 1, 127), _DROP, _TAKE]
    else:
        # Drop what is for multicast, which the kernel itself sends, and for ::1.
        program = [
            *((_LOAD_BYTE, 0, 0, 24), (_IF_EQUAL, 8, 0, 0xFF)),
            *((_LOAD_WORD, 0, 0, 24), (_IF_EQUAL, 0, 7, 0)),
            *((_LOAD_WORD, 0, 0, 28), (_IF_EQUAL, 0, 5, 0)),
            *((_LOAD_WORD, 0, 0, 32), (_IF_EQUAL, 0, 3, 0)),
            *((_LOAD_WORD, 0, 0, 36), (_IF_EQUAL, 0, 1, 1)),
            _DROP,
            _TAKE,
        ]
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    sniffer.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(program), ctypes.addressof(buffer)))
    sniffer.bind(("lo", protocol))
    return sniffer


def _describe(packet: bytes) -> str | None:
    """Say what an IP packet begins; None of one that answers."""
    if packet[0] >> 4 == 4:
        protocol, host, payload = packet[9], ipaddress.ip_address(packet[16:20]), packet[4 * (packet[0] & 0xF) :]
    else:
        protocol, host, payload = packet[6], ipaddress.ip_address(packet[24:40]), packet[40:]
    if protocol not in {_TCP, _UDP}:
        return None
    port = struct.unpack_from(">H", payload, 2)[0]
    if protocol == _TCP:
        begins = payload[13] & 0x12 == 0x02  # SYN without ACK
        return f"connection to {host} port {port}" if begins else None
    if port == _DNS_PORT:
        return f"look-up of {_name(payload[20:])}"
    return f"datagram to {host} port {port}"


def _name(question: bytes) -> str:
    """Read the name that a DNS query asks for (RFC 1035, 4.1.2)."""
    labels = []
    while question and question[0]:
        labels.append(question[1 : 1 + question[0]].decode("ascii", "replace"))
        question = question[1 + question[0] :]
    return ".".join(labels)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command of the arguments; return the exit status."""
    parser = argparse.ArgumentParser(prog="tests.network_watch", description=__doc__, allow_abbrev=False)
    parser.add_argument("--report", type=Path, help="file for what was seen, as a JSON object: line to count")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    enter_namespace()
    with watching() as watch:
        status = subprocess.run(options.command).returncode
    for line, count in watch.seen.items():
        sys.stderr.write(f"{count} x {line}\n")
    sys.stderr.write(f"look-ups and connections beyond loopback: {sum(watch.seen.values())}\n")
    if options.report:
        options.report.write_text(json.dumps(watch.seen), encoding="utf-8")
    return status or (SENT_SOMETHING if watch.seen else 0)


if __name__ == "__main__":
    sys.exit(main())
