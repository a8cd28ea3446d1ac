"""Sends what was encoded to an address that the operator chose, over connections that are kept."""

import asyncio
from collections.abc import Sequence

import msgspec

from agio.core.url import DEFAULT_PORTS, bracketed, split_url
from agio.egress import Egress
from agio.egress.pool import EgressPool
from agio.errors import AgioError, UpstreamError

TIMEOUT_S = 10.0
_ANSWER_BYTES = 64 * 1024
_WORDS = 200
_PASSING = (408, 409, 425, 429)
"""Statuses below 500 after which the same request may be taken later."""
_LONGEST_WAIT_S = 300.0


class ExportError(UpstreamError):
    """An export failed: for good (`traces_refused`), or for now (`traces_unavailable`)."""

    def __init__(
        self, code: str, message: str, *, status: int = 0, retry_after_s: float | None = None
    ) -> None:
        super().__init__(code, message, {"status": status} if status else None)
        self.status = status
        self.retry_after_s = retry_after_s

    @property
    def is_final(self) -> bool:
        """Whether the same request would be refused again."""
        return self.code == "traces_refused"


class Sender:
    """Posts to one address. The operator chose it, so it may be private; no redirect is followed."""

    def __init__(self, url: str, allow: Sequence[str] = (), timeout_s: float = TIMEOUT_S) -> None:
        parts = split_url(url, "http", "https")
        place = f"{bracketed(parts.hostname or '')}:{parts.port or DEFAULT_PORTS[parts.scheme]}"
        self.url = url
        self._egress = Egress([*allow, place])
        self._pool: EgressPool | None = None
        self._timeout_s = timeout_s

    async def post(self, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
        """Post a body and return the answer. Raises ExportError."""
        if self._pool is None:
            self._pool = self._egress.open_pool()
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._pool.send("POST", self.url, headers, body, limit_bytes=_ANSWER_BYTES)
                try:
                    said = b"".join([part async for part in answer])
                finally:
                    await answer.aclose()
        except TimeoutError as error:
            words = f"It did not answer within {self._timeout_s:g} s."
            raise ExportError("traces_unavailable", words) from error
        except AgioError as error:
            raise ExportError("traces_unavailable", error.message) from error
        if answer.status < 300:
            return said
        raise _refusal(answer.status, dict(answer.headers), said)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._pool is not None:
            await self._pool.aclose()
        await self._egress.aclose()


def _refusal(status: int, headers: dict[str, str], said: bytes) -> ExportError:
    words = _REASONS.get(status, f"It answered {status}.")
    if detail := _detail(said):
        words += f" It says: {detail}"
    if status >= 500 or status in _PASSING:
        wait = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
        wait_s = min(float(wait), _LONGEST_WAIT_S) if wait.isascii() and wait.isdigit() else None
        return ExportError("traces_unavailable", words, status=status, retry_after_s=wait_s)
    return ExportError("traces_refused", words, status=status)


_REASONS = {
    400: "It does not accept the data (400).",
    401: "It does not accept the key (401).",
    403: "The key may not write traces (403).",
    404: "There is nothing at this address (404).",
    413: "The data is too large (413).",
    415: "It does not take this format (415): set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf or http/json.",
    429: "It takes no more for now (429).",
}


def _detail(said: bytes) -> str:
    """Return the message of a JSON error, as OpenAI and OTLP write it."""
    try:
        answer = msgspec.json.decode(said, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""
    error = answer.get("error")
    message = error.get("message") if isinstance(error, dict) else answer.get("message")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    text = message if isinstance(message, str) else ""
    return "".join(char if char.isprintable() else " " for char in text)[:_WORDS]
