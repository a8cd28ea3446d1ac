"""Where a driver calls and with which key: handed down as values, never read from the environment here."""

from msgspec import Struct, field


class Endpoint(Struct, frozen=True):
    """A model service. `base_url` None is the vendor's own address, which needs a key."""

    base_url: str | None = None
    api_key: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
