"""`POST /mcp`: MCP over streamable HTTP, without sessions, for callers with an API key.

It authenticates and reads one JSON-RPC message; endpoint.py answers it. The package `mcp` takes most of a second to
import, so a thread imports it at the first call.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeAlias

from agio.errors import UserError
from agio.gateway.doors.mcp_server.message import Posted
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Application, Receive, Scope, Send
from agio.gateway.http.body import ClientGone, check_json_type, read_body
from agio.gateway.http.errors import send_error, wrapped
from agio.gateway.http.origin import WEBSOCKET, Headers
from agio.gateway.http.route import REQUEST_BYTES, check_permission
from agio.gateway.routes.protected_resource import METADATA_PATH

if TYPE_CHECKING:
    from agio.gateway.doors.mcp_server.endpoint import Endpoint

MakeEndpoint: TypeAlias = "Callable[[Gateway], Endpoint]"


class McpServer:
    """The ASGI application behind `POST /mcp`. `make` imports the endpoint and makes it."""

    def __init__(self, gateway: Gateway, make: MakeEndpoint) -> None:
        self._gateway = gateway
        self._make = make
        self._endpoint: Endpoint | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one JSON-RPC message. What is refused before it is read has the usual body of an error."""
        with ExitStack() as held:
            try:
                posted = await self._admit(scope, receive, held)
                endpoint = await self._opened()
            except ClientGone:
                return
            except Exception as error:
                await send_error(send, wrapped(error), challenge=self._challenge(scope["headers"]))
                return
            await endpoint.answer(posted, send)

    async def _admit(self, scope: Scope, receive: Receive, held: ExitStack) -> Posted:
        gateway, headers = self._gateway, scope["headers"]
        who = await gateway.auth.admit(scope)
        if not _has_key(headers):
            raise UserError(
                "unauthenticated", "A cookie does not do here. Send an API key (Authorization: Bearer)."
            )
        gateway.auth.check_origin(WEBSOCKET, headers)  # MCP refuses a foreign one also with a key
        check_permission(who, "use")
        held.enter_context(gateway.connections.room(who))
        check_json_type(headers)
        # It counts as bytes in flight until the answer: the package keeps the parameters as long.
        body = await read_body(scope, receive, gateway.limits.json_body_bytes)
        who = await gateway.auth.identify(headers)  # again: reading may take a minute
        check_permission(who, "use")
        gateway.rates.take("request", who.credential, count=len(body) // REQUEST_BYTES)
        return Posted(
            who=who,
            headers={name.decode("latin-1"): value.decode("latin-1").strip(" \t") for name, value in headers},
            repeated=_repeated(headers),
            base_url=gateway.auth.origins.base_url(headers),
            address=gateway.addresses.client_of(scope),
            body=body,
            receive=receive,
        )

    async def _opened(self) -> "Endpoint":
        if self._endpoint is None:
            made = await asyncio.to_thread(self._make, self._gateway)
            self._endpoint = self._endpoint or made
        return self._endpoint

    def _challenge(self, headers: Headers) -> bytes:
        """Say where the metadata is that names who issues credentials (RFC 9728)."""
        base = self._gateway.auth.origins.base_url(headers).encode("latin-1", "replace")
        failed = b'error="invalid_token", ' if _has_key(headers) else b""
        return b'Bearer realm="agio", %bresource_metadata="%b%b"' % (failed, base, METADATA_PATH.encode())


def mcp_server(gateway: Gateway) -> Application:
    """Make the application of `POST /mcp`."""
    return McpServer(gateway, _make_endpoint)


def _make_endpoint(gateway: Gateway) -> "Endpoint":
    from agio.gateway.doors.mcp_server.agents import agents_server
    from agio.gateway.doors.mcp_server.endpoint import Endpoint

    return Endpoint(gateway, agents_server(gateway))


def _has_key(headers: Headers) -> bool:
    return any(name == b"authorization" for name, _ in headers)


def _repeated(headers: Headers) -> frozenset[str]:
    """Return the names of headers that were sent more than once."""
    names = [name.decode("latin-1") for name, _ in headers]
    return frozenset(name for name in names if names.count(name) > 1)
