"""Connects to a checked address, without resolving the name again."""

import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import cast

import httpcore

from agio.egress.address import Address

Lookup = Callable[[str, int], Awaitable[Sequence[Address]]]
SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]

CONNECT_TIMEOUT_S = 10.0


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to the first of the host's checked addresses that answers."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._opened: list[httpcore.AsyncNetworkStream] = []
        self._plain = cast(httpcore.AsyncNetworkBackend, httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a host. Raises UserError `egress_refused`, httpcore's errors."""
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in await self._lookup(host, port):
            try:
                stream = await self._plain.connect_tcp(str(address), port, timeout=CONNECT_TIMEOUT_S)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = failure or error
            else:
                self._opened.append(stream)
                return stream
        raise failure or httpcore.ConnectError("it has no address")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[SocketOption] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: egress never connects to a Unix socket."""
        raise httpcore.ConnectError("it is no address on a network")

    async def sleep(self, seconds: float) -> None:
        """Sleep between attempts."""
        await self._plain.sleep(seconds)

    async def aclose(self) -> None:
        """Close the socket, also after an abandoned TLS handshake, which would leave it open."""
        while self._opened:
            await self._opened.pop().aclose()


def make_connection(
    scheme: str, host: str, port: int, context: ssl.SSLContext | None, network: GuardedNetwork
) -> httpcore.AsyncHTTPConnection:
    """Make a connection for one exchange; it connects on first use."""
    origin = httpcore.Origin(scheme.encode(), host.encode(), port)
    return httpcore.AsyncHTTPConnection(
        origin, ssl_context=context, http1=True, http2=False, network_backend=network
    )
