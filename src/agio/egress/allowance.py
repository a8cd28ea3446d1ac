"""The operator's exemptions from the address check: `AGIO_EGRESS_ALLOW`."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network

from msgspec import Struct

from agio.egress.address import Address
from agio.egress.target import parse_host
from agio.errors import UserError


class _Entry(Struct, frozen=True):
    """One exemption: a network, a name, or all subdomains of a name; for one port or all."""

    network: IPv4Network | IPv6Network | None = None
    name: str = ""
    below: bool = False
    port: int | None = None


class Allowance:
    """Host names, addresses and networks that may be called although they are not public.

    Raises UserError `invalid_setting` for an invalid entry.
    """

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = [_parse(entry.strip()) for entry in entries if entry.strip()]

    def covers_name(self, host: str, port: int) -> bool:
        """Whether a host is exempt by its name."""
        for entry in self._entries:
            if entry.port not in (None, port) or entry.network is not None:
                continue
            if host.endswith(f".{entry.name}") if entry.below else host == entry.name:
                return True
        return False

    def covers_address(self, address: Address, port: int) -> bool:
        """Whether an address is exempt."""
        return any(
            entry.network is not None and entry.port in (None, port) and address in entry.network
            for entry in self._entries
        )


def _parse(text: str) -> _Entry:
    host, colon, port = text.rpartition(":")
    entry = _place(text, None)
    if entry is None and colon and port.isascii() and port.isdigit() and 0 < int(port) < 65536:
        entry = _place(host, int(port))
    if entry is None:
        raise UserError(
            "invalid_setting",
            f"AGIO_EGRESS_ALLOW has the entry {text!r}: write host names, *.example.com, addresses or networks "
            "such as 10.0.0.0/8, each with :port if you like, and commas between them.",
            {"variable": "AGIO_EGRESS_ALLOW"},
        )
    return entry


def _place(text: str, port: int | None) -> _Entry | None:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        return _Entry(network=ip_network(bare), port=port)
    except ValueError:
        pass
    below = text.startswith("*.")
    try:
        name, _ = parse_host(text[2:] if below else text)
    except UserError:
        return None
    return _Entry(name=name, below=below, port=port)
