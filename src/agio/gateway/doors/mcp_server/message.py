"""What a client posted: one JSON-RPC message, and who sent it."""

from collections.abc import Mapping
from dataclasses import dataclass

from agio.core.identity.principal import Principal
from agio.gateway.http.asgi import Receive


@dataclass(frozen=True)
class Posted:
    """A request whose caller is known and whose body was read. `receive` tells when the client disconnects."""

    who: Principal
    headers: Mapping[str, str]
    repeated: frozenset[str]
    """The names of headers that were sent more than once."""
    base_url: str
    address: str
    body: bytes
    receive: Receive

    @property
    def takes_events(self) -> bool:
        """Whether the client accepts an answer as server-sent events."""
        return "text/event-stream" in self.headers.get("accept", "")
