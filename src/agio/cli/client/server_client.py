"""A REST client of a running server: typed responses, and the server's errors raised as AgioError."""

import asyncio
import getpass
import http.client
import ssl
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar
from urllib.parse import urlencode

import msgspec

from agio.core.url import split_url
from agio.errors import AgioError, UserError
from agio.gateway.http.errors import Error

T = TypeVar("T")

_TIMEOUT_S = 30.0
_NO_HEADERS: Mapping[str, str] = {}


class ServerClient:
    """A server's REST surface, for one API key; a person at a terminal is asked for a missing one."""

    def __init__(self, url: str, api_key: str | None) -> None:
        self.url = url.rstrip("/")
        try:
            parts = split_url(self.url, "http", "https")
        except ValueError:
            raise UserError(
                "invalid_server_url", f"{url!r} is not a server address. Write it as http://127.0.0.1:8700."
            ) from None
        self._secure = parts.scheme == "https"
        self._address = parts.netloc.rpartition("@")[2]
        self._path = parts.path
        self.headers = {"Authorization": f"Bearer {api_key or _typed_key(self.url)}"}

    async def get(self, path: str, kind: type[T], **query: str | int | None) -> T:
        """GET a path. Raises the server's error, or UserError `server_unreachable`."""
        given = {name: value for name, value in query.items() if value is not None}
        data = await self._ask("GET", f"{path}?{urlencode(given)}" if given else path)
        return _decoded(data, kind)

    async def post(self, path: str, body: object, kind: type[T], key: str | None = None) -> T:
        """POST a body; `key` is the idempotency key. Raises as `get` does."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return _decoded(await self._ask("POST", path, msgspec.json.encode(body), headers), kind)

    async def upload(self, path: str, data: bytes, kind: type[T]) -> T:
        """POST bytes. Raises as `get` does."""
        headers = {"Content-Type": "application/octet-stream"}
        return _decoded(await self._ask("POST", path, data, headers), kind)

    async def delete(self, path: str) -> None:
        """DELETE a path. Raises as `get` does."""
        await self._ask("DELETE", path)

    async def read(self, path: str) -> bytes:
        """GET a path and return the bytes. Raises as `get` does."""
        return await self._ask("GET", path)

    async def _ask(
        self, method: str, path: str, body: bytes | None = None, extra: Mapping[str, str] = _NO_HEADERS
    ) -> bytes:
        headers = {**self.headers, **extra}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        return await asyncio.to_thread(self._ask_now, method, path, body, headers)

    def _ask_now(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        connection = self._connection()
        try:
            connection.request(method, f"{self._path}{path}", body, headers)
            response = connection.getresponse()
            data = response.read()
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise unreachable(self.url, error) from error
        finally:
            connection.close()
        if response.status >= 400:
            raise refusal(response.status, data)
        return data

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._address, timeout=_TIMEOUT_S, context=context)
        return http.client.HTTPConnection(self._address, timeout=_TIMEOUT_S)


def unreachable(url: str, error: Exception) -> UserError:
    """Return the error of a server that does not respond."""
    reason = str(error) or type(error).__name__
    return UserError("server_unreachable", f"No server responds at {url}: {reason}. Start it: agio serve")


def _typed_key(url: str) -> str:
    """Prompt for a key without echo. Raises UserError `missing_api_key` without a terminal, or for empty input."""
    typed = ""
    if sys.stdin.isatty():
        with suppress(EOFError):
            typed = getpass.getpass(f"API key for {url}: ").strip()
    if not typed:
        raise UserError(
            "missing_api_key",
            "Set AGIO_API_KEY: the server requires a key. Create one in the web app, or with: agio keys create NAME",
            {"variable": "AGIO_API_KEY"},
        )
    return typed


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise UserError("not_agio", f"The response is not from agio: {error}. Check the address.") from error


def refusal(status: int, data: bytes) -> AgioError:
    """Return the error a server answered with."""
    try:
        error = msgspec.json.decode(data, type=Error).error
    except msgspec.MsgspecError:
        return UserError(
            "not_agio", f"The server responded with status {status}, but is not agio. Check the address."
        )
    return AgioError(error.code, error.message, error.details)
