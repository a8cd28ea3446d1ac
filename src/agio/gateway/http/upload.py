"""An upload: spooled to disk as it arrives, measured, hashed and typed. routes/files.py stores it.

A whole file is never in memory.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import NamedTuple, Self

from agio.core.file import CHUNK_BYTES
from agio.errors import UserError
from agio.gateway.http.asgi import Receive
from agio.gateway.http.body import ClientGone
from agio.gateway.http.media_type import HEAD_BYTES, MediaType, TextCheck, media_type_of

_IDLE_S = 60.0
"""A client that sends nothing for so long is considered gone."""
_FORM_BYTES = 16 * 1024
"""The most bytes of a form besides its file."""
_FIELD_BYTES = 1024


class FormFields(NamedTuple):
    """What a form says beside its file; None: nothing."""

    session_id: str | None = None
    file_name: str | None = None


class Spool:
    """The bytes of one file, in an unnamed temporary file."""

    def __init__(self, limit_bytes: int) -> None:
        self.size = 0
        self._limit_bytes = limit_bytes
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._hash = hashlib.sha256()
        self._text = TextCheck()
        self._head = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        """Append bytes. Raises UserError `file_too_large`."""
        self.size += len(data)
        if self.size > self._limit_bytes:
            raise too_large(self._limit_bytes)
        if len(self._head) < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - len(self._head)]
        self._hash.update(data)
        self._text.take(data)
        self._file.write(data)

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the file."""
        return self._hash.digest()

    @property
    def head(self) -> bytes:
        """The first bytes of the file."""
        return self._head

    def media_type(self) -> MediaType:
        """Return the media type, from the content."""
        return media_type_of(self._head, is_text=self._text.result())

    def mentions(self, mark: bytes) -> bool:
        """Whether the file has these bytes."""
        self._file.seek(0)
        before = b""
        while data := self._file.read(CHUNK_BYTES):
            if mark in before + data:
                return True
            before = data[-len(mark) :]
        return False

    async def chunks(self) -> AsyncIterator[bytes]:
        """Read the file in the chunks it is stored in."""
        self._file.seek(0)
        while data := self._file.read(CHUNK_BYTES):
            yield data


async def receive_file(
    receive: Receive, headers: Iterable[tuple[bytes, bytes]], spool: Spool, limit_bytes: int
) -> FormFields:
    """Spool a body: a form with a part `file`, or the file itself. Returns what the form says of it.

    Raises UserError `file_too_large`, `empty_file`, `invalid_body`, ClientGone.
    """
    said = dict(headers)
    length = said.get(b"content-length", b"")
    if length.isdigit() and int(length) > limit_bytes + _FORM_BYTES:
        raise too_large(limit_bytes)
    form = _form_of(said.get(b"content-type", b""), spool)
    take = spool.write if form is None else form.write
    async for data in _body(receive):
        take(data)
    if form is not None:
        form.finish()
    if not spool.size:
        raise UserError("empty_file", "The file is empty.")
    return FormFields() if form is None else FormFields(form.session_id, form.file_name)


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        try:
            async with asyncio.timeout(_IDLE_S):
                message = await receive()
        except TimeoutError:
            raise ClientGone from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        more = message.get("more_body", False)
        if data := message.get("body", b""):
            yield data


def _form_of(content_type: bytes, spool: Spool) -> "_Form | None":
    from python_multipart.multipart import parse_options_header

    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data":
        return None
    return _Form(options.get(b"boundary", b""), spool)


class _Form:
    """A multipart form, parsed as it arrives: `file` is spooled, `session_id` kept, other parts are refused."""

    def __init__(self, boundary: bytes, spool: Spool) -> None:
        from python_multipart.exceptions import FormParserError
        from python_multipart.multipart import MultipartParser

        self.session_id: str | None = None
        self.file_name: str | None = None
        self._spool = spool
        self._seen: set[str] = set()
        self._name = ""
        self._header = (b"", b"")
        self._field = b""
        self._around = 0
        self._ended = False
        self._error: type[Exception] = FormParserError
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._header_name,
                    "on_header_value": self._header_value,
                    "on_header_end": self._header_end,
                    "on_headers_finished": self._headers_end,
                    "on_part_data": self._data,
                    "on_part_end": self._end,
                    "on_end": self._finished,
                },
            )
        except FormParserError as error:
            raise _bad_form(str(error)) from error
        if not boundary:
            raise _bad_form("its Content-Type names no boundary")

    def write(self, data: bytes) -> None:
        """Take the next bytes. Raises UserError."""
        self._around += len(data)
        if self._around - self._spool.size > _FORM_BYTES + len(data):
            raise _bad_form(f"it has more than {_FORM_BYTES} bytes around its file")
        try:
            self._parser.write(data)
        except self._error as error:
            raise _bad_form(str(error)) from error

    def finish(self) -> None:
        """Check that the form is complete. Raises UserError `invalid_body`."""
        if not self._ended:
            raise _bad_form("it is incomplete")
        if "file" not in self._seen:
            raise _bad_form("it has no part `file`")

    def _begin(self) -> None:
        self._name, self._header, self._field = "", (b"", b""), b""

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0] + data[start:end], self._header[1])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0], self._header[1] + data[start:end])

    def _header_end(self) -> None:
        from python_multipart.multipart import parse_options_header

        (name, value), self._header = self._header, (b"", b"")
        if name.lower() == b"content-disposition":
            options = parse_options_header(value)[1]
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
            if self._name == "file" and b"filename" in options:
                self.file_name = options[b"filename"].decode("utf-8", "replace")

    def _headers_end(self) -> None:
        if self._name not in ("file", "session_id") or self._name in self._seen:
            raise _bad_form("send one part `file`, and optionally `session_id`")
        self._seen.add(self._name)

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._name == "file":
            self._spool.write(data[start:end])
        elif len(self._field) + end - start > _FIELD_BYTES:
            raise _bad_form("its session_id is too long")
        else:
            self._field += data[start:end]

    def _end(self) -> None:
        if self._name == "session_id":
            self.session_id = self._field.decode("utf-8", "replace")

    def _finished(self) -> None:
        self._ended = True


def too_large(limit_bytes: int) -> UserError:
    """Return the error of a file above the limit."""
    return UserError(
        "file_too_large", f"The file is larger than {limit_bytes} bytes.", {"limit_bytes": limit_bytes}
    )


def _bad_form(why: str) -> UserError:
    return UserError("invalid_body", f"The form is invalid: {why}.")
