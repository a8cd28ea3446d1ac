"""The client address of a request: the socket's peer, or the address a trusted proxy names in X-Forwarded-For.

Forwarding headers from any other peer are ignored.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_HEADER = b"x-forwarded-for"
_MOST_BYTES = 1024
_MOST_HOPS = 16
"""How many hops at the end of the header are read. Longer chains of trusted proxies are a misconfiguration."""
_IPV6_PREFIX = 64
"""The smallest network given to one IPv6 customer: its addresses count as one."""
_CACHE_ENTRIES = 4096


def network_of(address: str) -> str:
    """Return the rate-limit key of an address: itself, or the /64 of an IPv6 address."""
    if ":" not in address:
        return address
    parsed = _parse(address)
    if not isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed or address)
    return str(ipaddress.IPv6Address(int(parsed) >> _IPV6_PREFIX << _IPV6_PREFIX))


class Addresses:
    """Finds the client address of a request."""

    def __init__(self, proxies: Sequence[Network] = ()) -> None:
        self._proxies = proxies
        self._trusted: dict[str, bool] = {}

    def client_of(self, scope: Mapping[str, Any]) -> str:
        """Return the client's address, empty over a Unix socket."""
        client: tuple[str, int] | None = scope.get("client")
        peer = "" if client is None else client[0]
        if not self._proxies or not self._trusts(peer):
            return peer
        return self._forwarded(peer, scope["headers"])

    def _forwarded(self, peer: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """Walk back from the nearest proxy to the first untrusted hop: hops nearer to us cannot be forged."""
        given = b",".join(value for name, value in headers if name == _HEADER)
        hops = given[-_MOST_BYTES:].decode("latin-1").split(",")[-_MOST_HOPS:]
        nearest = peer
        for hop in reversed(hops):
            address = _parse(_without_port(hop.strip()))
            if address is None:
                return nearest
            nearest = str(address)
            if not self._trusts(nearest):
                return nearest
        return nearest

    def _trusts(self, peer: str) -> bool:
        known = self._trusted.get(peer)
        if known is None:
            address = _parse(peer)
            known = address is not None and any(address in network for network in self._proxies)
            if len(self._trusted) < _CACHE_ENTRIES:
                self._trusted[peer] = known
        return known


def is_loopback(address: str) -> bool:
    """Whether an address is loopback."""
    parsed = _parse(address)
    return parsed is not None and parsed.is_loopback


def _parse(text: str) -> Address | None:
    """Parse an address; an IPv4-mapped IPv6 address is IPv4."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _without_port(hop: str) -> str:
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
