"""A REST route as the list in app.py says it, and the FastAPI route made of it.

Who may call is settled and the body is read and decoded before FastAPI sees the request, so that nobody
unknown can send a megabyte and every refusal has our shape.
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
"""Who may call: whoever has a credential; anybody; this machine, or whoever has a credential."""
Endpoint: TypeAlias = Callable[..., Awaitable[Response]]
Problem: TypeAlias = dict[str, Any]
"""What pydantic says of a field."""
Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]
Page: TypeAlias = Callable[[int, AgioError], Response]
"""What answers with a page that tells an error, under a status."""

P = ParamSpec("P")
R = TypeVar("R")

PRIVATE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
"""The headers of what is for the caller alone, and is what it says it is."""
FRESH_S = 15 * 60
"""For so long somebody who proved who they are may make sensitive changes."""
_FIELDS_TOLD = 20
_FIELDS_NAMED = 3
_REQUEST_BYTES = 64 * 1024
"""A large body counts as several requests, each of so many bytes."""
_compiling = ThreadPoolExecutor(1, "schemas")
_SCHEMA_COUNT = 10
"""To compile a schema is as much work as so many requests."""
_WHO: dict[Permission, str] = {
    "use": "every member has it",
    "build": "admins and owners have it",
    "manage": "admins and owners have it",
    "own": "owners have it",
}


@dataclass(frozen=True)
class Route:
    """One line of the list: what is answered to whom, and with which codes it may be refused."""

    method: str
    path: str
    endpoint: Endpoint
    status: int
    answer: object
    """The type of the JSON answer, or the media type of any other; None for no body."""
    codes: str = ""
    """Its own codes, beside those every route of its kind has."""
    access: Access = "user"
    needs: Permission = "use"
    """What a credential must be allowed to do."""
    fresh: bool = False
    """Whether a person must have proved who they are a short time ago."""
    takes: Mapping[str, Any] | None = None
    """OpenAPI's words for a body that is no JSON."""
    pages: Sequence[int] = ()
    """The statuses that come with a page for a person."""
    streams: bool = False
    """Whether the answer may come as server-sent events, if it is asked for."""
    waits: bool = False
    """Whether it waits for a run, and is refused with the code of one that fails."""

    @property
    def name(self) -> str:
        """The endpoint's name, which is also the operation's id."""
        return getattr(self.endpoint, "__name__", "")


class Call(Request):
    """A request that was let in: by whom, to which gateway, with which body."""

    gateway: "Gateway"
    who: Principal
    raw: bytes = b""
    given: Json = None

    async def body(self) -> bytes:
        """The body, as it was read."""
        return self.raw

    async def json(self) -> Json:
        """The body, decoded."""
        return self.given

    async def compile_schema(self, check: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
        """Check something that has a schema to be compiled. Raises LimitExceeded `rate_limited`.

        One at a time, in a thread: each holds the interpreter's lock for milliseconds again and again.
        """
        self.gateway.rates.take("request", self.who.credential, count=_SCHEMA_COUNT)
        return await asyncio.get_running_loop().run_in_executor(_compiling, partial(check, *args, **named))


async def let_in(scope: Scope, receive: Receive, route: Route, *, body: bool) -> Call:
    """Settle who is asking, then read and decode what was sent. Raises UserError, ClientGone."""
    call = Call(scope, receive)
    call.gateway = gateway = cast("Gateway", scope["gateway"])
    if route.access == "user":
        call.who = await gateway.auth.admit(scope)
        check_permission(call.who, route.needs)
        if route.fresh:
            check_fresh(call.who)
    if b"%00" in scope["query_string"]:
        raise UserError("invalid_query", "The query has a null character: leave it out.")
    if body:
        call.raw = await read_body(scope, receive, gateway.limits.json_body_bytes)
        if call.raw:
            check_json_type(scope["headers"])
            if route.access == "user":
                gateway.rates.take("request", call.who.credential, count=len(call.raw) // _REQUEST_BYTES)
            call.given = decode_json(call.raw, gateway.limits)
    if route.access == "user" and (body or route.fresh):
        await let_stay(call, route)
    return call


async def let_stay(call: Call, route: Route) -> None:
    """Settle again who is asking: a body may take a minute to come, and a credential be revoked meanwhile.

    For sensitive changes no earlier look-up counts: another gateway may have taken the right to make them.
    """
    call.who = await call.gateway.auth.identify(call.scope["headers"], anew=route.fresh)
    check_permission(call.who, route.needs)
    if route.fresh:
        check_fresh(call.who)


def check_permission(who: Principal, needs: Permission) -> None:
    """Raise UserError `forbidden` if a credential may not do this."""
    if needs not in who.permissions:
        why = "this API key was made without it" if needs in PERMISSIONS[who.role] else _WHO[needs]
        raise UserError("forbidden", f"This needs the permission {needs!r}: {why}.", {"needs": needs})


def check_fresh(who: Principal) -> None:
    """Raise UserError `reauthentication_required` if a person with an account signed in too long ago.

    A program has proved all it can with its key, and whoever has only a link has nothing to prove it with.
    """
    if who.authenticated_at is None or who.account is None:
        return
    if time.time_ns() // 1_000_000 - who.authenticated_at > FRESH_S * 1000:
        raise UserError(
            "reauthentication_required",
            "Prove again who you are, with POST /api/account/confirm, or where you sign in "
            "(/sign-in/oidc/{provider}?purpose=confirm): it is good for 15 minutes.",
            {"fresh_s": FRESH_S},
        )


def refused(error: Exception) -> Response:
    """Answer with whatever went wrong."""
    return Response(status_code=499) if isinstance(error, ClientGone) else refusal(told(error))


def told(error: Exception) -> AgioError:
    """Return whatever went wrong in our words."""
    match error:
        case RequestValidationError():
            return _invalid(cast("list[Problem]", error.errors()))
        case ValidationError():
            return _invalid([{**problem, "loc": ("body", *problem["loc"])} for problem in error.errors()])
        case _:
            return wrapped(error)


class _RestRoute(APIRoute):
    """A FastAPI route that lets nobody in who may not, and answers every error in our shape."""

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
        """Say whether this is the route of a request. What is the whole path of another is no id."""
        return (Match.NONE, {}) if scope["path"] in self._others else super().matches(scope)

    def get_route_handler(self) -> Handler:
        """Put our door before FastAPI's handler."""
        inner = super().get_route_handler()
        has_body = self.body_field is not None
        line, page = self.line, self._page

        async def handle(request: Request) -> Response:
            try:
                call = await let_in(request.scope, request.receive, line, body=has_body)
                return await inner(call)
            except Exception as error:
                if page is None or "text/html" not in request.headers.get("accept", ""):
                    return refused(error)
                problem = told(error)
                return page(status_of(problem), problem)

        return handle


def rest_route(route: Route, others: Collection[str], page: Page | None = None) -> APIRoute:
    """Make the FastAPI route of a line of the list.

    `others` are the paths without parameters; `page` is what tells a person of an error, where people go to.
    """
    return _RestRoute(route, others, page)


def answer(value: object, status: int = 200, *, version: int | None = None) -> Response:
    """Answer with JSON. `version`: of what can be replaced, for the `If-Match` of whoever does."""
    headers = PRIVATE if version is None else {**PRIVATE, "etag": f'"{version}"'}
    return Response(msgspec.json.encode(value), status, headers, "application/json")


def refusal(error: AgioError) -> Response:
    """Answer with an error."""
    headers = {name.decode(): value.decode("latin-1") for name, value in error_headers(error)}
    return Response(error_body(error), status_of(error), {**PRIVATE, **headers}, "application/json")


def _invalid(problems: list[Problem]) -> UserError:
    """Say which fields are wrong, and how, without repeating what was sent."""
    fields = [
        {
            "path": ".".join(str(part) for part in problem["loc"][1:]),
            "problem": str(problem["msg"]).removeprefix("Value error, "),
        }
        for problem in problems[:_FIELDS_TOLD]
    ]
    where = {str(problem["loc"][0]) for problem in problems}
    words = "; ".join(
        f"{field['path'] or 'the body'}: {field['problem']}" for field in fields[:_FIELDS_NAMED]
    )
    if (more := len(problems) - _FIELDS_NAMED) > 0:
        words += f"; and {more} more"
    code = "invalid_body" if "body" in where else "invalid_query"
    return UserError(code, f"{words}.", {"fields": fields})
