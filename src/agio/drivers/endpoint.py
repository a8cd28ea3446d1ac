"""A driver's address and key, passed as values: this module never reads the environment."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Protocol

from msgspec import Struct, field


class Guard(Protocol):
    """Resolves a host to the addresses that may be called; `agio.egress` implements it."""

    async def addresses(self, host: str, port: int) -> Sequence[IPv4Address | IPv6Address]:
        """Resolve a host. Raises UserError `egress_refused`, UpstreamError `upstream_unreachable`."""
        ...


class Endpoint(Struct, frozen=True):
    """A model service. If `base_url` is None, the vendor's own address is used, which requires a key."""

    base_url: str | None = None
    api_key: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    guard: Guard | None = None
    """Checks each new connection; set if the operator did not configure the address."""

    def __repr__(self) -> str:
        return f"Endpoint(base_url={self.base_url!r}, api_key=...)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("base_url", self.base_url)]
