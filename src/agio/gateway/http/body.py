"""Reading and decoding a JSON body, within limits of size, time and nesting."""

import asyncio
from collections.abc import Iterable

import msgspec

from agio.core.config import ServerLimits
from agio.errors import UserError
from agio.gateway.http.asgi import Receive, Scope
from agio.gateway.http.in_flight import Held, held_of
from agio.protocol.messages import Json

BODY_S = 60.0
"""How long a body may take to arrive."""
_MAX_PARTS = 50_000
"""The most objects and lists in a body: decoding them takes a few milliseconds."""
_SQUARE = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b"{}[]"))


class ClientGone(Exception):
    """The client disconnected before its request was complete."""


async def read_body(scope: Scope, receive: Receive, limit_bytes: int) -> bytes:
    """Read a body. It counts as bytes in flight until the request ends.

    Raises UserError `body_too_large` (as soon as the limit is passed), `request_timeout`, LimitExceeded
    `too_many_bytes`, ClientGone.
    """
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and int(value) > limit_bytes:
            raise _too_large(limit_bytes)
    try:
        async with asyncio.timeout(BODY_S):
            return await _read(receive, held_of(scope), limit_bytes)
    except TimeoutError as error:
        raise UserError("request_timeout", f"The body took longer than {BODY_S:g} s to arrive.") from error


async def _read(receive: Receive, held: Held, limit_bytes: int) -> bytes:
    body = bytearray()  # a list of tiny chunks would take many times their size
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
    """Raise UserError `unsupported_media_type` if the Content-Type is not JSON."""
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
    check_json(body, limits)
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise UserError("invalid_json", f"The body is not JSON: {_words(error)}.") from error


def check_json(body: bytes, limits: ServerLimits) -> None:
    """Raise UserError `invalid_json` for deep nesting, too many parts, or a null character (Postgres cannot store it).

    It scans the bytes without decoding, which is much faster.
    """
    if body.count(b"{") + body.count(b"[") <= limits.json_depth and rb"\u0000" not in body:
        return
    plain = body.replace(rb"\\", b"")
    if rb"\u0000" in plain:
        raise UserError("invalid_json", "The body contains a null character (\\u0000). Remove it.")
    outside = b"".join(plain.replace(rb"\"", b"").split(b'"')[::2])
    brackets = outside.translate(_SQUARE, _OTHERS)
    if len(brackets) > 2 * _MAX_PARTS:
        raise UserError("invalid_json", f"The body has more than {_MAX_PARTS} objects and lists.")
    for _ in range(limits.json_depth):
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        depth = limits.json_depth
        raise UserError("invalid_json", f"The body is nested deeper than {depth} levels.", {"limit": depth})


def _words(error: Exception) -> str:
    return "it is not UTF-8" if isinstance(error, UnicodeError) else str(error).removeprefix("JSON is ")


def _too_large(limit_bytes: int) -> UserError:
    return UserError(
        "body_too_large", f"The body is larger than {limit_bytes} bytes.", {"limit_bytes": limit_bytes}
    )
