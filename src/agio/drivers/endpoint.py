"""Where a driver calls and with which key: handed down as values, never read from the environment here."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Protocol

from msgspec import Struct, field


class Guard(Protocol):
    """Says which addresses of a host may be connected to: what agio.egress does for addresses that users name."""

    async def addresses(self, host: str, port: int) -> Sequence[IPv4Address | IPv6Address]:
        """Look a host up. Raises UserError `egress_refused`, UpstreamError `upstream_unreachable`."""
        ...


class Endpoint(Struct, frozen=True):
    """A model service. `base_url` None is the vendor's own address, which needs a key."""

    base_url: str | None = None
    api_key: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    guard: Guard | None = None
    """Asked before each new connection, if it was not the operator who named the address."""

    def __repr__(self) -> str:
        return f"Endpoint(base_url={self.base_url!r}, api_key=...)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("base_url", self.base_url)]
