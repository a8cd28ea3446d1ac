"""Connects to a checked address, without resolving the name again."""

import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import cast

import anyio
import httpcore

from agio.egress.address import Address
from agio.egress.target import Target

Lookup = Callable[[str, int], Awaitable[Sequence[Address]]]
SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]

CONNECT_TIMEOUT_S = 10.0


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to the first of the host's checked addresses that answers."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
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
                return _Stream(stream)
        raise failure or httpcore.ConnectError("it has no address")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[SocketOption] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: egress never connects to a Unix socket."""
        raise httpcore.ConnectError("it is no address on a network")

    async def sleep(self, seconds: float) -> None:
        """Sleep between attempts."""
        await self._plain.sleep(seconds)


class _Stream(httpcore.AsyncNetworkStream):
    """A socket that is closed also after an abandoned TLS handshake, which would leave it open."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read some bytes."""
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write bytes."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the socket."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Begin TLS."""
        try:
            return await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()
            raise

    def get_extra_info(self, info: str) -> object:
        """Return what is known of the socket."""
        return self._stream.get_extra_info(info)


def make_request(
    target: Target, method: str, headers: Sequence[tuple[str, str]], body: bytes | None
) -> httpcore.Request:
    """Make a request to a target that was parsed."""
    return httpcore.Request(
        method.encode(),
        httpcore.URL(
            scheme=target.scheme.encode(),
            host=target.host.encode(),
            port=target.port,
            target=target.path.encode(),
        ),
        headers=[(name.encode(), value.encode("latin-1")) for name, value in headers],
        content=body or b"",
    )


def make_connection(
    scheme: str, host: str, port: int, context: ssl.SSLContext | None, network: GuardedNetwork
) -> httpcore.AsyncHTTPConnection:
    """Make a connection for one exchange; it connects on first use."""
    origin = httpcore.Origin(scheme.encode(), host.encode(), port)
    return httpcore.AsyncHTTPConnection(
        origin, ssl_context=context, http1=True, http2=False, network_backend=network
    )
