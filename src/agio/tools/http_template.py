"""The URL template of an HTTP tool: its `{parameter}`s are checked on definition and filled in on a call.

Arguments become parts of the path, the query and a JSON body. They never reach the host or a header, and cannot
escape their place in the template.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import cast, get_args
from urllib.parse import quote, unquote

import msgspec

from agio.core.http_tool import HttpHeader, HttpMethod, HttpTool
from agio.egress import header_problem, parse_target
from agio.errors import UserError
from agio.protocol.messages import Json, json_object

_PARAMETER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_-]*)\}")
_FIXED = re.compile(r"https?://[^/?#{}]+(?:[/?]|$)", re.IGNORECASE)
_SCALARS = ("string", "integer", "number", "boolean")
LONGEST_TIMEOUT_S = 120
_MAX_HEADERS = 32
_PATH_CHARS = 512


class Template:
    """A tool's URL template. Raises UserError `invalid_tool` for an invalid one."""

    def __init__(self, name: str, definition: HttpTool) -> None:
        self._tool = name
        self._url = definition.url
        self._in_query = definition.method in ("GET", "HEAD", "DELETE")
        self._names: list[str] = _PARAMETER.findall(definition.url)
        if definition.method not in get_args(HttpMethod):
            raise invalid(name, f"its method must be one of {', '.join(get_args(HttpMethod))}")
        self._check_url()
        schema = json_object(definition.parameters)
        properties = json_object(schema.get("properties"))
        listed = schema.get("required")
        required = cast("list[Json]", listed) if isinstance(listed, list) else []
        for parameter in self._names:
            kind = json_object(properties.get(parameter)).get("type")
            if kind not in _SCALARS or parameter not in required:
                raise invalid(
                    name,
                    f"its URL has {{{parameter}}}, so its schema must have a required parameter {parameter} "
                    f"of type {', '.join(_SCALARS)}",
                )

    def fill(self, arguments: Mapping[str, Json]) -> tuple[str, bytes | None]:
        """Return the URL and body of a call. Raises UserError `egress_refused` if an argument changes the target."""
        path, _, query = self._url.partition("?")
        path = _PARAMETER.sub(lambda found: self._part(found[1], arguments, path=True), path)
        # Some services decode an encoded slash.
        if any(segment in (".", "..") for segment in re.split(r"[/\\]", unquote(path))):
            raise UserError("egress_refused", "The arguments make a path that leads elsewhere.")
        pairs = [_PARAMETER.sub(lambda found: self._part(found[1], arguments), query)] if query else []
        rest = {name: value for name, value in arguments.items() if name not in self._names}
        if not self._in_query:
            return path + "".join(f"?{pair}" for pair in pairs), msgspec.json.encode(rest)
        for name, value in rest.items():
            items = cast("list[Json]", value) if isinstance(value, list) else [value]
            pairs += [f"{_encoded(name)}={_encoded(_word(item))}" for item in items if item is not None]
        return (f"{path}?{'&'.join(pairs)}" if pairs else path), None

    def _part(self, name: str, arguments: Mapping[str, Json], *, path: bool = False) -> str:
        word = _word(arguments.get(name, ""))
        if path and not word:
            raise UserError("egress_refused", f"{name} is a part of the path: it must not be empty.")
        return _encoded(word)

    def _check_url(self) -> None:
        name, url = self._tool, self._url
        if not _FIXED.match(url):
            raise invalid(name, "its URL must begin with https:// or http:// and a host, without parameters")
        if "#" in url:
            raise invalid(name, "its URL has a fragment, which is never sent")
        filled = _PARAMETER.sub("x", url)
        if "{" in filled or "}" in filled:
            raise invalid(name, "its URL has braces that are no {parameter}")
        if any(segment in (".", "..") for segment in filled.partition("?")[0].split("/")):
            raise invalid(name, "its path has . or .. in it")
        try:
            parse_target(filled)
        except UserError as error:
            raise invalid(name, f"its URL: {error.details.get('rule', error.message)}") from error


def check_headers(tool: str, headers: Sequence[HttpHeader]) -> None:
    """Check the headers of a tool. Raises UserError `invalid_tool`."""
    if len(headers) > _MAX_HEADERS:
        raise invalid(tool, f"it has more than {_MAX_HEADERS} headers")
    if len({header.name.lower() for header in headers}) < len(headers):
        raise invalid(tool, "it has a header twice")
    for header in headers:
        if problem := header_problem(header.name, header.value):
            raise invalid(tool, problem)


def check_result_path(tool: str, path: str | None) -> None:
    """Check the path to the result inside a response. Raises UserError `invalid_tool`."""
    if path is not None and (len(path) > _PATH_CHARS or not all(path.split("."))):
        raise invalid(tool, "its result path must be names and numbers with dots between them")


def check_timeout(tool: str, timeout_s: float | None) -> None:
    """Check a tool's time limit. Raises UserError `invalid_tool`."""
    if timeout_s is not None and not (math.isfinite(timeout_s) and 0 < timeout_s <= LONGEST_TIMEOUT_S):
        raise invalid(tool, f"its time-out must be above 0 and at most {LONGEST_TIMEOUT_S} s")


def invalid(tool: str, why: str) -> UserError:
    """Return the error for an invalid definition."""
    return UserError("invalid_tool", f"Tool {tool}: {why}.")


def _word(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _encoded(word: str) -> str:
    return quote(word, safe="", errors="replace")
