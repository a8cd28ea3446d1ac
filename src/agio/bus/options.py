"""Where the bus is: what the settings say of it."""

from urllib.parse import urlsplit

from msgspec import Struct


class NatsOptions(Struct, frozen=True, kw_only=True):
    """Where NATS is, and how a gateway is admitted. User and password, or a token, may be in the addresses."""

    servers: list[str]
    credentials: str | None = None
    """The path of a `.creds` file: the user's JWT and seed, which name its account."""
    ca_file: str | None = None
    """The certificates that the server's is checked against; None: the system's."""
    cert_file: str | None = None
    """The client's certificate, and its key."""
    key_file: str | None = None

    @property
    def places(self) -> str:
        """The addresses without user and password, for messages."""
        parts = [urlsplit(server) for server in self.servers]
        return ", ".join(f"{part.scheme}://{part.hostname}:{part.port or 4222}" for part in parts)
