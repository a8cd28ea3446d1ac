"""The address of a gateway, and its two endpoints for workers."""

from msgspec import Struct

from agio.core.url import split_url
from agio.errors import UserError


class GatewayAddress(Struct, frozen=True):
    """A gateway's parsed address."""

    secure: bool
    authority: str
    path: str

    @property
    def link_url(self) -> str:
        """The WebSocket URL of the link."""
        return f"{'wss' if self.secure else 'ws'}://{self.authority}{self.path}/link"

    @property
    def heartbeat_path(self) -> str:
        """The path of the heartbeat, on the same authority."""
        return f"{self.path}/link/heartbeat"


def parse_addresses(urls: str) -> list[GatewayAddress]:
    """Parse addresses of gateways, separated by commas or blanks. Raises UserError `invalid_gateway_url`."""
    return [parse_address(url) for url in urls.replace(",", " ").split() or [urls]]


def parse_address(url: str) -> GatewayAddress:
    """Parse an address such as `http://10.0.0.5:8700`. Raises UserError `invalid_gateway_url`."""
    try:
        parts = split_url(url, "http", "https", "ws", "wss")
        if parts.username:
            raise ValueError("it has a user name")  # noqa: TRY301
    except ValueError as error:
        raise UserError(
            "invalid_gateway_url",
            f"{url!r} is no address of a gateway ({error}): write one such as http://10.0.0.5:8700.",
        ) from error
    return GatewayAddress(parts.scheme in ("https", "wss"), parts.netloc, parts.path.rstrip("/"))
