"""The plain pages: sign in, pick an agent, chat. Files as they are, without a build, from this server alone."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import cast

from fastapi.requests import Request
from fastapi.responses import RedirectResponse, Response

from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.routes.route import refused

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
ASSETS = (
    "style.css",
    "icon.svg",
    "app.js",
    "api.js",
    "socket.js",
    "thread.js",
    "elements.js",
    "approval.js",
    "confirm.js",
    "door.js",
    "sign-in.js",
    "set-up.js",
    "invitation.js",
)


@cache
def _file(name: str) -> bytes:
    return files(__name__).joinpath(name).read_bytes()


def page_response(name: str, status: int = 200, words: Mapping[str, str] | None = None) -> Response:
    """Answer with one of the page's files; `words`, escaped, go where their names are in braces."""
    body = _file(name)
    for place, text in (words or {}).items():
        body = body.replace(b"{%s}" % place.encode(), text.encode("utf-8", "replace"))
    return Response(body, status, _HEADERS, _TYPES[name.rpartition(".")[2]])


async def home(request: Request) -> Response:
    """Show the page to whoever is signed in, and to others how to sign in."""
    gateway = cast("Gateway", request.scope["gateway"])
    try:
        await gateway.auth.identify(request.scope["headers"])
    except UserError:
        return page_response("sign-in.html")
    except Exception as error:
        return refused(error)
    return page_response("index.html")


async def set_up(request: Request) -> Response:
    """Offer an account to whoever is signed in without one."""
    gateway = cast("Gateway", request.scope["gateway"])
    try:
        who = await gateway.auth.browser(request.scope["headers"])
    except Exception as error:
        return refused(error)
    if who is None or who.account is not None:
        return RedirectResponse("/", 303, {"cache-control": "no-store"})
    return page_response("set-up.html")


def page(name: str) -> Callable[[Request], Awaitable[Response]]:
    """Make the endpoint of one of the page's files."""

    async def serve(request: Request) -> Response:
        return page_response(name)

    return serve
