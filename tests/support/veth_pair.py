# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two namespaces joined by a cable, with rules that put traffic into zones; sockets on both sides."""

from __future__ import annotations

import socket
import struct
import typing as t

if t.TYPE_CHECKING:
    from network_namespace import Namespace

CLIENT, SERVER = {4: "10.9.0.1", 6: "fd00:9::1"}, {4: "10.9.0.2", 6: "fd00:9::2"}

# Ports tell the zone. Packets of both directions are put into it, except that zone 7 holds in the original direction only.
RULES = """
table inet zones {
    chain arriving {
        type filter hook prerouting priority raw
        tcp dport 5000-5099 ct zone set 5
        udp dport 5000-5099 ct zone set 5
        tcp dport 6000-6099 ct zone set 6
        udp dport 6000-6099 ct zone set 6
        tcp dport 7000-7099 ct original zone set 7
        meta l4proto { icmp, ipv6-icmp } ct zone set 8
    }
    chain leaving {
        type filter hook output priority raw
        tcp sport 5000-5099 ct zone set 5
        udp sport 5000-5099 ct zone set 5
        tcp sport 6000-6099 ct zone set 6
        udp sport 6000-6099 ct zone set 6
        meta l4proto { icmp, ipv6-icmp } ct zone set 8
    }
    chain tracked {
        type filter hook input priority filter
        ct state new accept
    }
}
"""

_FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}


class Pair:
    """:ivar server: the namespace whose table is looked at; the client's is not tracked"""

    def __init__(self, client: Namespace, server: Namespace) -> None:
        self.client, self.server = client, server
        self._sockets: list[socket.socket] = []
        client.command("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", server.name)
        for side, addresses in ((client, CLIENT), (server, SERVER)):
            side.command("ip", "address", "add", addresses[4] + "/24", "dev", "cable")
            side.command("ip", "address", "add", addresses[6] + "/64", "dev", "cable", "nodad")
            side.command("ip", "link", "set", "cable", "up")
            side.command("ip", "link", "set", "lo", "up")
        server.command("nft", "-f", "-", input=RULES)

    def close(self) -> None:
        for sock in self._sockets:
            sock.close()

    def connect(self, port: int, version: int = 4) -> tuple[socket.socket, socket.socket]:
        """A TCP connection: the client's socket and the server's."""
        listening = self._socket(self.server, version, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((SERVER[version], port))
        listening.listen()
        client = self._socket(self.client, version, socket.SOCK_STREAM)
        client.connect((SERVER[version], port))
        server, _peer = listening.accept()
        server.settimeout(30)
        self._sockets.append(server)
        return client, server

    def datagram(self, port: int, version: int = 4, answered: bool = True) -> None:
        """A UDP datagram to the server, and one back."""
        server = self._socket(self.server, version, socket.SOCK_DGRAM)
        server.bind((SERVER[version], port))
        client = self._socket(self.client, version, socket.SOCK_DGRAM)
        client.sendto(b"question", (SERVER[version], port))
        _question, sender = server.recvfrom(100)
        if answered:
            server.sendto(b"answer", sender)
            client.recvfrom(100)

    def ping(self, identifier: int, version: int = 4) -> None:
        """An ICMP echo request, which the server's kernel answers."""
        protocol = {4: socket.IPPROTO_ICMP, 6: socket.IPPROTO_ICMPV6}[version]
        request, reply = {4: (8, 0), 6: (128, 129)}[version]
        client = self._socket(self.client, version, socket.SOCK_RAW, protocol)
        head = struct.pack("!BBHHH", request, 0, 0, identifier, 1)
        client.sendto(head[:2] + struct.pack("!H", _checksum(head)) + head[4:], (SERVER[version], 0))
        while True:  # a raw socket also sees what else arrives
            packet = client.recv(2000)
            message = packet[(packet[0] & 15) * 4 :] if version == 4 else packet
            if message[0] == reply:
                return

    def _socket(self, side: Namespace, version: int, kind: int, protocol: int = 0) -> socket.socket:
        sock = side.run(lambda: socket.socket(_FAMILY[version], kind, protocol))
        sock.settimeout(30)
        self._sockets.append(sock)
        return sock


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    return ~((total >> 16) + (total & 0xFFFF)) & 0xFFFF
