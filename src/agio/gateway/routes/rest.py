"""The REST routes (routes/table.py) and the pages, served by FastAPI."""

from functools import cache, partial
from typing import cast

from fastapi import FastAPI
from fastapi.requests import Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.routing import Route as PageRoute

from agio.errors import UserError
from agio.gateway.http.asgi import Scope
from agio.gateway.http.errors import wrapped
from agio.gateway.http.route import Route, refusal, rest_route
from agio.gateway.pages import ASSETS, PAGES, asset, icon, page, page_response, wants_page
from agio.gateway.routes.openapi import describe
from agio.gateway.routes.table import ROUTES


def describe_api() -> bytes:
    """Return the OpenAPI document without a server."""
    return cast("bytes", make_rest().state.openapi())


@cache
def make_rest() -> FastAPI:
    """Create the FastAPI application. All gateways share it: a request's scope names its gateway."""
    rest = FastAPI(
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        exception_handlers={HTTPException: _unrouted},
    )
    fixed = frozenset(route.path for route in ROUTES if "{" not in route.path)
    made = [rest_route(route, fixed, page_response if _is_sign_in(route) else None) for route in ROUTES]
    rest.router.routes.extend(made)
    rest.router.routes.extend(_NamedRoute(path, page) for path in PAGES)
    rest.router.routes.append(_NamedRoute(ASSETS, asset))
    rest.router.routes.append(_NamedRoute("/icon.svg", icon))
    rest.state.openapi = cache(partial(describe, ROUTES, made))
    return rest


def _is_sign_in(route: Route) -> bool:
    """Whether browsers open this route to sign in."""
    return route.method == "GET" and route.path.startswith("/sign-in")


class _NamedRoute(PageRoute):
    """A page's route, which names itself for the access log."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, found if match is Match.NONE else {**found, "route": self}


async def _unrouted(request: Request, error: Exception) -> Response:
    """Respond to a request that no route matches."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    path = request.url.path
    match status:
        case 404:
            return page_response(404) if wants_page(request) else refusal(not_found(path))
        case 405:
            routes = cast("FastAPI", request.app).routes
            fitting = [
                route
                for route in routes
                if isinstance(route, PageRoute) and route.matches(request.scope)[0] is not Match.NONE
            ]
            return refusal(
                not_allowed(*sorted(method for route in fitting for method in route.methods or ()))
            )
        case _:
            return refusal(wrapped(error))


def not_found(path: str) -> UserError:
    """Return the error of an unknown path."""
    return UserError("not_found", f"No such path: {path[:200]}. See GET /api/openapi.json.")


def not_allowed(*methods: str) -> UserError:
    """Return the error of a wrong method."""
    allowed = ", ".join(methods)
    return UserError("method_not_allowed", f"This path allows only {allowed}.", {"allowed": allowed})
