"""A REST route of routes/table.py, and the FastAPI route built from it.

Authentication comes first, then the body is read and decoded, then FastAPI is called: an unauthenticated client
cannot send a large body, and every error has our shape.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias, TypeVar, cast

import msgspec
from fastapi.exceptions import RequestValidationError
from fastapi.requests import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.routing import Match

from agio.core.identity.principal import PERMISSIONS, Permission, Principal
from agio.errors import AgioError, UserError
from agio.gateway.http.asgi import Receive, Scope
from agio.gateway.http.body import ClientGone, check_json_type, decode_json, read_body
from agio.gateway.http.errors import error_body, error_headers, status_of, wrapped
from agio.protocol.messages import Json

if TYPE_CHECKING:
    from agio.gateway.gateway import Gateway

Access: TypeAlias = Literal["user", "public", "local"]
"""Who may call: `user` needs a credential, `public` none, `local` one unless the call is from this machine."""
Endpoint: TypeAlias = Callable[..., Awaitable[Response]]
Problem: TypeAlias = dict[str, Any]
"""A pydantic error."""
Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]
Page: TypeAlias = Callable[[int, AgioError], Response]
"""Renders an error as a page with a status."""

P = ParamSpec("P")
R = TypeVar("R")

PRIVATE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
"""Headers of private responses: not cached, type not sniffed."""
FRESH_S = 15 * 60
"""How long sensitive changes are allowed after a person has authenticated."""
_SHOWN_FIELDS = 20
_NAMED_FIELDS = 3
REQUEST_BYTES = 64 * 1024
"""A large body counts as one request per this many bytes."""
_compiling = ThreadPoolExecutor(1, "schemas")
_SCHEMA_COUNT = 10
"""Compiling a schema counts as this many requests."""
_WHO: dict[Permission, str] = {
    "use": "every member has it",
    "build": "admins and owners have it",
    "manage": "admins and owners have it",
    "own": "owners have it",
}


@dataclass(frozen=True)
class Route:
    """One line of the route table: endpoint, response, error codes, access."""

    method: str
    path: str
    endpoint: Endpoint
    status: int
    answer: object
    """The type of the JSON response, or the media type of any other; None for no body."""
    codes: str = ""
    """Its own error codes, besides those of every such route."""
    access: Access = "user"
    needs: Permission = "use"
    """The permission a credential needs."""
    fresh: bool = False
    """Whether a person must have authenticated recently."""
    takes: Mapping[str, Any] | None = None
    """The OpenAPI description of a body that is not JSON."""
    pages: Sequence[int] = ()
    """The statuses whose response is a page."""
    streams: bool = False
    """Whether the response can be server-sent events, on request."""
    waits: bool = False
    """Whether it waits for a run; if the run fails, the response is the run's error."""

    @property
    def name(self) -> str:
        """The endpoint's name, which is also the operation's id."""
        return getattr(self.endpoint, "__name__", "")


class Call(Request):
    """An admitted request: its caller, gateway and decoded body."""

    gateway: "Gateway"
    who: Principal
    raw: bytes = b""
    given: Json = None

    async def body(self) -> bytes:
        """The raw body."""
        return self.raw

    async def json(self) -> Json:
        """The decoded body."""
        return self.given

    async def compile_schema(self, check: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
        """Run a check that compiles a schema. Raises LimitExceeded `rate_limited`.

        One at a time, in a thread, because compiling holds the GIL for milliseconds.
        """
        self.gateway.rates.take("request", self.who.credential, count=_SCHEMA_COUNT)
        return await asyncio.get_running_loop().run_in_executor(_compiling, partial(check, *args, **named))


async def admit_call(scope: Scope, receive: Receive, route: Route, *, body: bool) -> Call:
    """Authenticate the caller, then read and decode the body. Raises UserError, ClientGone."""
    call = Call(scope, receive)
    call.gateway = gateway = cast("Gateway", scope["gateway"])
    if route.access == "user":
        call.who = await gateway.auth.admit(scope)
        check_permission(call.who, route.needs)
        if route.fresh:
            check_fresh(call.who)
    if b"%00" in scope["query_string"]:
        raise UserError("invalid_query", "The query contains a null character. Remove it.")
    if body:
        call.raw = await read_body(scope, receive, gateway.limits.json_body_bytes)
        if call.raw:
            check_json_type(scope["headers"])
            if route.access == "user":
                gateway.rates.take("request", call.who.credential, count=len(call.raw) // REQUEST_BYTES)
            call.given = decode_json(call.raw, gateway.limits)
    if route.access == "user" and (body or route.fresh):
        await authenticate_again(call, route)
    return call


async def authenticate_again(call: Call, route: Route) -> None:
    """Authenticate again: a body may take a minute to arrive, and the credential may be revoked meanwhile.

    Sensitive changes bypass the cache, because another gateway may have revoked the permission.
    """
    call.who = await call.gateway.auth.identify(call.scope["headers"], anew=route.fresh)
    check_permission(call.who, route.needs)
    if route.fresh:
        check_fresh(call.who)


def check_permission(who: Principal, needs: Permission) -> None:
    """Raise UserError `forbidden` if the caller lacks a permission."""
    if needs not in who.permissions:
        why = "this API key was created without it" if needs in PERMISSIONS[who.role] else _WHO[needs]
        raise UserError("forbidden", f"This needs the permission {needs!r}: {why}.", {"needs": needs})


def check_fresh(who: Principal) -> None:
    """Raise UserError `reauthentication_required` if a person with an account authenticated too long ago.

    API keys, and users who signed in with a link and have no account, cannot authenticate again and are exempt.
    """
    if who.authenticated_at is None or who.account is None:
        return
    if time.time_ns() // 1_000_000 - who.authenticated_at > FRESH_S * 1000:
        raise UserError(
            "reauthentication_required",
            "Confirm it's you: POST /api/account/confirm, or /sign-in/oidc/{provider}?purpose=confirm. This lasts "
            "15 minutes.",
            {"fresh_s": FRESH_S},
        )


def refused(error: Exception) -> Response:
    """Return the response for an exception."""
    return Response(status_code=499) if isinstance(error, ClientGone) else refusal(as_agio_error(error))


def as_agio_error(error: Exception) -> AgioError:
    """Return an exception as an AgioError."""
    match error:
        case RequestValidationError():
            return _invalid(cast("list[Problem]", error.errors()))
        case ValidationError():
            return _invalid([{**problem, "loc": ("body", *problem["loc"])} for problem in error.errors()])
        case _:
            return wrapped(error)


class _RestRoute(APIRoute):
    """A FastAPI route that authenticates first and returns every error in our shape."""

    def __init__(self, route: Route, others: Collection[str], page: Page | None) -> None:
        self.line = route
        self._page = page
        self._others = others if "{" in route.path else ()
        super().__init__(
            route.path,
            route.endpoint,
            methods=[route.method],
            status_code=route.status,
            response_model=None,
            operation_id=route.name,
            strict_content_type=False,
            openapi_extra=None if route.takes is None else {"requestBody": route.takes},
        )

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match a request, unless its path is the fixed path of another route."""
        return (Match.NONE, {}) if scope["path"] in self._others else super().matches(scope)

    def get_route_handler(self) -> Handler:
        """Wrap FastAPI's handler."""
        inner = super().get_route_handler()
        has_body = self.body_field is not None
        line, page = self.line, self._page

        async def handle(request: Request) -> Response:
            try:
                call = await admit_call(request.scope, request.receive, line, body=has_body)
                return await inner(call)
            except Exception as error:
                try:
                    if page is None or "text/html" not in request.headers.get("accept", ""):
                        return refused(error)
                    problem = as_agio_error(error)
                    return page(status_of(problem), problem)
                finally:
                    # FastAPI's frame refers to its error and the error to the frame: break the cycle, for with it
                    # a refused body of a megabyte would stay until the next full garbage collection.
                    error.__traceback__ = None

        return handle


def rest_route(route: Route, others: Collection[str], page: Page | None = None) -> APIRoute:
    """Build the FastAPI route of a table entry.

    `others` are the paths without parameters; `page` renders errors for people, on routes that browsers open.
    """
    return _RestRoute(route, others, page)


def answer(value: object, status: int = 200, *, version: int | None = None) -> Response:
    """Return a JSON response. `version` becomes its ETag, for `If-Match`."""
    headers = PRIVATE if version is None else {**PRIVATE, "etag": f'"{version}"'}
    return Response(msgspec.json.encode(value), status, headers, "application/json")


def refusal(error: AgioError) -> Response:
    """Return the response of an error."""
    headers = {name.decode(): value.decode("latin-1") for name, value in error_headers(error)}
    return Response(error_body(error), status_of(error), {**PRIVATE, **headers}, "application/json")


def _invalid(problems: list[Problem]) -> UserError:
    """Return the error that lists the invalid fields, without repeating their values."""
    fields = [
        {
            "path": ".".join(str(part) for part in problem["loc"][1:]),
            "problem": str(problem["msg"]).removeprefix("Value error, "),
        }
        for problem in problems[:_SHOWN_FIELDS]
    ]
    where = {str(problem["loc"][0]) for problem in problems}
    words = "; ".join(
        f"{field['path'] or 'the body'}: {field['problem']}" for field in fields[:_NAMED_FIELDS]
    )
    if (more := len(problems) - _NAMED_FIELDS) > 0:
        words += f"; and {more} more"
    code = "invalid_body" if "body" in where else "invalid_query"
    return UserError(code, f"{words}.", {"fields": fields})
