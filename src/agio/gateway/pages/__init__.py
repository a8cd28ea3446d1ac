"""The web app: `make pages` builds it from web/ into `dist`, and this module serves the files.

Every page is the same document; the browser chooses what to show from the address.
"""

import secrets
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files

import msgspec
from fastapi.requests import Request
from fastapi.responses import Response

from agio.errors import AgioError, UserError
from agio.gateway.http.route import refusal

PAGES = (
    "/",
    "/chat",
    "/chat/{session_id}",
    "/runs",
    "/runs/{run_id}",
    "/memories",
    "/agents",
    "/agents/new",
    "/agents/{agent_id}",
    "/tools",
    "/tools/new",
    "/tools/{tool_id}",
    "/settings",
    "/settings/{section}",
    "/settings/mcp-servers/{server_id}",
    "/set-up",
    "/confirmed",
    "/invitation",
)
ASSETS = "/assets/{name}"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' blob: data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
}
_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
}
_CODINGS = {"br": ".br", "gzip": ".gz"}
_FOREVER = "public, max-age=31536000, immutable"
_NOT_BUILT = "<!doctype html><title>agio</title><p>The pages are not built: run <code>make pages</code>."


def page_response(
    status: int = 200, problem: AgioError | None = None, way_on: Mapping[str, object] | None = None
) -> Response:
    """Return the document. It shows `problem`, if given, and `way_on` says how the person can continue."""
    nonce = secrets.token_urlsafe(16)
    shown = b""
    if problem is not None:
        shown = msgspec.json.encode({"code": problem.code, "message": problem.message, **(way_on or {})})
    body = _document().replace("{nonce}", nonce).replace("{problem}", escape(shown.decode()))
    headers = {**_HEADERS, "content-security-policy": _POLICY.format(nonce=nonce)}
    return Response(body.encode("utf-8", "replace"), status, headers, "text/html; charset=utf-8")


async def page(request: Request) -> Response:
    """Show a page."""
    return page_response()


async def asset(request: Request) -> Response:
    """Serve a file of the app. Its name changes with its content, so browsers may cache it forever."""
    name: str = request.path_params["name"]
    if name not in _assets():
        return refusal(UserError("not_found", "No such file. Reload the page."))
    taken = _codings(request.headers.get("accept-encoding", ""))
    headers = {"cache-control": _FOREVER, "vary": "accept-encoding"}
    for coding, ending in _CODINGS.items():
        if coding in taken and name + ending in _assets():
            headers["content-encoding"] = coding
            return _file_response(f"assets/{name}{ending}", name, headers)
    return _file_response(f"assets/{name}", name, headers)


async def icon(request: Request) -> Response:
    """Serve the icon."""
    if "icon.svg" not in _names(""):
        return refusal(UserError("not_found", "The pages are not built."))
    return _file_response("icon.svg", "icon.svg", {"cache-control": "public, max-age=86400"})


def wants_page(request: Request) -> bool:
    """Whether the request is from a browser that opens a page."""
    path = request.url.path
    return (
        request.method in ("GET", "HEAD")
        and not path.startswith(("/api/", "/assets/"))
        and "text/html" in request.headers.get("accept", "")
    )


def _codings(accepted: str) -> set[str]:
    """Return the accepted content codings, without those of weight 0."""
    named = (part.replace(" ", "").lower().partition(";q=") for part in accepted.split(","))
    return {coding for coding, _, weight in named if not weight or weight.strip("0.")}


def _file_response(path: str, name: str, headers: dict[str, str]) -> Response:
    return Response(
        _read(path), 200, headers, _TYPES.get(name.rpartition(".")[2], "application/octet-stream")
    )


def _assets() -> frozenset[str]:
    return _names("assets")


@cache
def _names(folder: str) -> frozenset[str]:
    place = files(__name__).joinpath("dist").joinpath(folder) if folder else files(__name__).joinpath("dist")
    return frozenset(entry.name for entry in place.iterdir()) if place.is_dir() else frozenset()


@cache
def _read(path: str) -> bytes:
    return files(__name__).joinpath("dist").joinpath(path).read_bytes()


def _document() -> str:
    return _read("index.html").decode() if "index.html" in _names("") else _NOT_BUILT
