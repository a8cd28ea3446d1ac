"""EgressPool: exchanges over connections that are kept, with responses that are read as they arrive.

For protocols that stream and follow redirects themselves. Every connection goes to an address the guard checked.
"""

import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import cast

import httpcore

from agio.egress.headers import OURS, Headers, header_problem
from agio.egress.network import CONNECT_TIMEOUT_S, GuardedNetwork, Lookup, make_request
from agio.egress.target import Target, parse_target, refused
from agio.errors import UpstreamError

_CONNECTIONS = 64
_KEEP_S = 30.0


class EgressStream:
    """A response whose body is read in pieces, at most `limit_bytes` of it. `aclose` ends it at any time."""

    def __init__(self, target: Target, answer: httpcore.Response, limit_bytes: int) -> None:
        self.status = answer.status
        self.headers: Headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in answer.headers]
        self._target = target
        self._answer = answer
        self._limit = limit_bytes

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """Yield the body. Raises UpstreamError `upstream_unreachable`, `upstream_invalid`, `upstream_too_large`."""
        left = self._limit
        async with aclosing(cast(AsyncGenerator[bytes], self._answer.aiter_stream())) as parts:
            while True:
                try:
                    part = await anext(parts, None)
                except httpcore.RemoteProtocolError as error:
                    raise _invalid(self._target, error) from error
                except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                    raise _unreachable(self._target, error) from error
                if part is None:
                    return
                left -= len(part)
                if left < 0:
                    raise UpstreamError(
                        "upstream_too_large",
                        f"The answer of {self._target.authority} is larger than {self._limit} bytes.",
                    )
                yield part

    async def aclose(self) -> None:
        """End the exchange."""
        await self._answer.aclose()


class EgressPool:
    """Connections of one owner; they are not shared with other owners."""

    def __init__(self, lookup: Lookup, context: ssl.SSLContext) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=_CONNECTIONS,
            keepalive_expiry=_KEEP_S,
            network_backend=GuardedNetwork(lookup),
        )

    async def send(
        self,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        body: bytes,
        *,
        limit_bytes: int,
    ) -> EgressStream:
        """Send a request, and return its response once its headers are there. Redirects are not followed.

        Raises UserError `egress_refused`; UpstreamError `upstream_unreachable`, `upstream_invalid`.
        """
        target = parse_target(url)
        sent = [("Host", target.authority), ("Accept-Encoding", "identity")]
        sent += [(name, value) for name, value in headers if name.lower() not in OURS]
        for name, value in sent[2:]:
            if problem := header_problem(name, value):
                raise refused(problem)
        if method != "GET":
            sent.append(("Content-Length", str(len(body))))
        request = make_request(target, method, sent, body)
        request.extensions = {"timeout": {"connect": CONNECT_TIMEOUT_S, "pool": CONNECT_TIMEOUT_S}}
        try:
            answer = await self._pool.handle_async_request(request)
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            raise _unreachable(target, error) from error
        except httpcore.LocalProtocolError:  # its message may contain a header
            raise refused("it cannot be encoded as HTTP") from None
        except httpcore.RemoteProtocolError as error:
            raise _invalid(target, error) from error
        stream = EgressStream(target, answer, limit_bytes)
        coding = {value.lower() for name, value in stream.headers if name.lower() == "content-encoding"}
        if coding - {"identity"}:
            await stream.aclose()
            raise UpstreamError(
                "upstream_invalid", f"{target.authority} answers in an encoding that was not requested."
            )
        return stream

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


def _unreachable(target: Target, error: Exception) -> UpstreamError:
    before = isinstance(error, (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout))
    words = str(error) or type(error).__name__
    return UpstreamError(
        "upstream_unreachable", f"{target.authority} cannot be reached: {words}.", {"sent": not before}
    )


def _invalid(target: Target, error: Exception) -> UpstreamError:
    return UpstreamError(
        "upstream_invalid", f"What {target.authority} answers is not HTTP: {error}.", {"sent": True}
    )
