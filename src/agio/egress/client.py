"""Egress: sends a request, checks and follows its redirects, limits the response in size and time."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field

from agio.egress.address import Address, is_own, is_public
from agio.egress.allowance import Allowance
from agio.egress.body import Body
from agio.egress.headers import Headers, for_strangers, header_problem, without_body
from agio.egress.resolver import Resolver, SystemResolver
from agio.egress.target import Target, join_target, parse_target, refused
from agio.errors import UpstreamError

if TYPE_CHECKING:
    from agio.egress.pool import EgressPool

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_REDIRECTS = (301, 302, 303, 307, 308)
_ADVICE = " The operator of the server can allow it with AGIO_EGRESS_ALLOW."


class EgressRequest(Struct, frozen=True):
    """A request to an address that a user can influence."""

    method: str
    url: str
    headers: Headers = field(default_factory=list[tuple[str, str]])
    body: bytes | None = None
    timeout_s: float = 30
    """The total time: resolving, connecting, redirects, up to the last byte."""
    limit_bytes: int = 1024 * 1024
    """The limit of the decompressed body."""
    max_redirects: int = 5


class EgressResponse(Struct, frozen=True):
    """A response of any status."""

    status: int
    headers: Headers
    body: bytes
    url: str
    """The final URL, after redirects."""

    def header(self, name: str) -> str | None:
        """Return the first header with this name."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class Egress:
    """Calls public addresses, and those the operator exempts. Raises UserError `invalid_setting`."""

    def __init__(self, allow: Sequence[str] = (), resolver: Resolver | None = None) -> None:
        self._allowance = Allowance(allow)
        self._system = SystemResolver()
        self._resolve: Resolver = resolver or self._system
        self._context: ssl.SSLContext | None = None

    async def request(self, request: EgressRequest) -> EgressResponse:
        """Make a request and follow its redirects.

        Raises UserError `egress_refused` if a target is not allowed, UpstreamError `upstream_unreachable`,
        `upstream_timeout`, `upstream_too_large`, `upstream_invalid`, `too_many_redirects`.
        """
        _check(request)
        target = parse_target(request.url)
        try:
            async with asyncio.timeout(request.timeout_s):
                return await self._follow(request, target)
        except TimeoutError as error:
            raise UpstreamError(
                "upstream_timeout", f"{target.authority} took longer than {request.timeout_s:g} s."
            ) from error

    async def addresses(self, host: str, port: int) -> list[Address]:
        """Resolve a host and check every address. A caller that connects itself must use one of these.

        Raises UserError `egress_refused`, UpstreamError `upstream_unreachable`.
        """
        target = parse_target(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        local = target.host == "localhost" or target.host.endswith(".localhost")
        if target.address is not None:
            found: Sequence[Address] = [target.address]
        else:
            try:
                found = await self._resolve(target.host, port)
            except OSError as error:
                if local:
                    raise refused("this is the server's own machine", _ADVICE) from error
                raise _unresolved(target.host) from error
        if not found:
            raise _unresolved(target.host)
        if not self._allowance.covers_name(target.host, port):
            for address in found:
                if self._allowance.covers_address(address, port):
                    continue
                if local or not is_public(address) or is_own(address):
                    raise refused("this is a private address", _ADVICE)
        return list(found)

    def open_pool(self) -> "EgressPool":
        """Return a pool of connections of one's own, for exchanges whose responses are streamed."""
        from agio.egress.pool import EgressPool

        return EgressPool(self.addresses, self._tls())

    async def aclose(self) -> None:
        """Shut the resolver down."""
        self._system.close()

    async def _follow(self, request: EgressRequest, target: Target) -> EgressResponse:
        method, headers, body = request.method, request.headers, request.body
        for _ in range(request.max_redirects + 1):
            response = await self._exchange(target, method, headers, body, request.limit_bytes)
            places = {value for name, value in response.headers if name.lower() == "location"}
            if response.status not in _REDIRECTS or not places:
                return response
            if len(places) > 1:
                raise refused("it redirects to two places at once")
            origin, target = target, join_target(target, _as_sent(places.pop()))
            if (response.status == 303 and method != "HEAD") or (response.status < 303 and method == "POST"):
                method, body = "GET", None
                headers = without_body(headers)
            if not target.same_origin(origin):
                if body is not None:
                    raise refused("it redirects a request with a body to another origin")
                headers = for_strangers(headers)
        raise UpstreamError(
            "too_many_redirects", f"The answer is more than {request.max_redirects} redirects away."
        )

    async def _exchange(
        self, target: Target, method: str, headers: Headers, body: bytes | None, limit_bytes: int
    ) -> EgressResponse:
        import httpcore

        from agio.egress.network import GuardedNetwork, make_connection, make_request

        sent = [("Host", target.authority), *headers, ("Accept-Encoding", "gzip"), ("Connection", "close")]
        if body is not None or method in ("POST", "PUT", "PATCH"):
            sent.append(("Content-Length", str(len(body or b""))))
        request = make_request(target, method, sent, body)
        context = self._tls() if target.scheme == "https" else None
        network = GuardedNetwork(self.addresses)
        try:
            async with make_connection(
                target.scheme, target.host, target.port, context, network
            ) as connection:
                answer = await connection.handle_async_request(request)
                try:
                    received = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in answer.headers]
                    bare = method == "HEAD" or answer.status in _REDIRECTS
                    unpacked = Body(target.authority, received, limit_bytes, empty=bare)
                    if not bare:
                        parts = cast(AsyncGenerator[bytes], answer.aiter_stream())
                        async with aclosing(parts):
                            async for part in parts:
                                unpacked.feed(part)
                finally:
                    await answer.aclose()
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            words = str(error) or type(error).__name__
            before = isinstance(error, (httpcore.ConnectError, httpcore.ConnectTimeout))
            raise UpstreamError(
                "upstream_unreachable",
                f"{target.authority} cannot be reached: {words}.",
                {"sent": not before},
            ) from error
        except httpcore.LocalProtocolError:  # its message may contain a header
            raise refused("it cannot be encoded as HTTP") from None
        except httpcore.RemoteProtocolError as error:
            raise UpstreamError(
                "upstream_invalid", f"What {target.authority} answers is not HTTP: {error}."
            ) from error
        return EgressResponse(answer.status, received, unpacked.close(), target.url)

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context


def _as_sent(location: str) -> str:
    """Decode a Location header as UTF-8, as browsers do."""
    try:
        return location.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise refused("it redirects to an invalid URL") from None


def _unresolved(host: str) -> UpstreamError:
    return UpstreamError("upstream_unreachable", f"The name {host} cannot be resolved.")


def _check(request: EgressRequest) -> None:
    if request.method not in _METHODS:
        raise refused("its method is not supported")
    for name, value in request.headers:
        if problem := header_problem(name, value):
            raise refused(problem)
