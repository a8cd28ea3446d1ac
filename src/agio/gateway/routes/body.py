"""A request's JSON body, read no further than it may be and refused before anything looks at it."""

import asyncio
from collections.abc import Iterable
from typing import cast

import msgspec

from agio.core.config import ServerLimits
from agio.errors import UserError
from agio.gateway.asgi import Receive, Scope
from agio.gateway.in_flight import Held, held_of
from agio.protocol.messages import Json

BODY_S = 60.0
"""How long a body may take to come."""


class ClientGone(Exception):
    """The client left before its request was complete."""


async def read_body(scope: Scope, receive: Receive, limit_bytes: int) -> bytes:
    """Read a body, which counts as bytes in flight until the request ends or says otherwise.

    Raises UserError `body_too_large` as soon as it is, `request_timeout`, LimitExceeded `too_many_bytes`, ClientGone.
    """
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and int(value) > limit_bytes:
            raise _too_large(limit_bytes)
    try:
        async with asyncio.timeout(BODY_S):
            return await _read(receive, held_of(scope), limit_bytes)
    except TimeoutError as error:
        raise UserError("request_timeout", f"The body took longer than {BODY_S:g} s to come.") from error


async def _read(receive: Receive, held: Held, limit_bytes: int) -> bytes:
    body = bytearray()  # a list of tiny parts would take many times their bytes
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part: bytes = message.get("body", b"")
        size = len(body) + len(part)
        if size > limit_bytes:
            raise _too_large(limit_bytes)
        held.set_received(size)
        if not message.get("more_body", False):
            return bytes(body + part) if body else part
        body += part


def check_json_type(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a body that says it is something else than JSON. Raises UserError `unsupported_media_type`."""
    for name, value in headers:
        if name == b"content-type" and value != b"application/json":
            kind = value.partition(b";")[0].strip().lower()
            if kind and kind != b"application/json" and not kind.endswith(b"+json"):
                raise UserError(
                    "unsupported_media_type",
                    "Send JSON, with the header Content-Type: application/json.",
                )


def decode_json(body: bytes, limits: ServerLimits) -> Json:
    """Decode a body. Raises UserError `invalid_json`."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise UserError("invalid_json", f"The body is not JSON: {_words(error)}.") from error
    except RecursionError:
        raise _too_deep(limits.json_depth) from None
    brackets = body.count(b"{") + body.count(b"[")
    if brackets > limits.json_depth or b"\\u0000" in body:
        _inspect(value, limits.json_depth)
    return value


def _inspect(value: Json, limit: int) -> None:
    """Refuse what is nested too deep, and text with a null character, which not every store can keep."""
    level: list[Json] = [value]
    depth = 0
    while level:
        inner: list[Json] = []
        for item in level:
            if isinstance(item, str):
                if "\0" in item:
                    raise UserError("invalid_json", "The body has a null character (\\u0000): leave it out.")
            elif isinstance(item, dict):
                for key, entry in cast("dict[str, Json]", item).items():
                    inner += (key, entry)
            elif isinstance(item, list):
                inner += cast("list[Json]", item)
        depth += any(isinstance(item, (dict, list)) for item in level)
        if depth > limit:
            raise _too_deep(limit)
        level = inner


def _words(error: Exception) -> str:
    return "it is not UTF-8" if isinstance(error, UnicodeError) else str(error).removeprefix("JSON is ")


def _too_large(limit_bytes: int) -> UserError:
    return UserError(
        "body_too_large", f"The body is larger than {limit_bytes} bytes.", {"limit_bytes": limit_bytes}
    )


def _too_deep(limit: int) -> UserError:
    return UserError("invalid_json", f"The body is nested deeper than {limit} levels.", {"limit": limit})
