"""Extractor: reads documents in subprocesses of their own group, and kills those that take too long or too much."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing, asynccontextmanager, suppress

import msgspec

from agio.core.document import Format
from agio.documents.block import ExtractLimits
from agio.documents.child import Line, Order
from agio.errors import UserError

_ENVIRONMENT = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "SYSTEMROOT",
)
"""What the subprocess gets of the environment: no key, no address."""
_LINE_BYTES = 16 * 1024 * 1024
_OUTPUT_BYTES = 256 * 1024 * 1024


class Extractor:
    """Reads documents. `at_once` subprocesses run at a time."""

    def __init__(self, limits: ExtractLimits | None = None, at_once: int = 2) -> None:
        self.limits = limits or ExtractLimits()
        self._room = asyncio.Semaphore(at_once)

    async def text_of(
        self, chunks: AsyncIterable[bytes], given: Format, limit_bytes: int, seconds: float
    ) -> bytes:
        """Return the text of a document, at most so many bytes. Raises as `read` does."""
        text = bytearray()
        async with as_file(chunks) as path:
            try:
                async with asyncio.timeout(seconds), aclosing(self.read(path, given)) as lines:
                    async for line in lines:
                        for passage in line.passages:
                            where = f"[page {passage.page}]\n" if passage.page is not None else ""
                            text += f"{where}{passage.text}\n\n".encode()
                        if len(text) >= limit_bytes:
                            break
            except TimeoutError as error:
                raise _too_slow(seconds) from error
        if len(text) <= limit_bytes:
            return bytes(text)
        words = b"\n[... the rest is left out]"
        return text[: limit_bytes - len(words)].decode("utf-8", "ignore").encode() + words

    async def read(self, path: str, given: Format) -> AsyncGenerator[Line]:
        """Read a document: its progress and passages; the last line has no passages and says what it used.

        Raises UserError with the code that says why it cannot be read.
        """
        order = msgspec.json.encode(Order(path, given, self.limits))
        async with self._room:
            try:
                async with asyncio.timeout(self.limits.seconds), _running(order) as process:
                    left = _OUTPUT_BYTES
                    ended = False
                    while data := await _line(process):
                        left -= len(data)
                        line = msgspec.json.decode(data, type=Line)
                        if line.code is not None:
                            raise UserError(line.code, line.message)
                        if left < 0:
                            raise _too_much()
                        ended = line.memory_bytes is not None
                        yield line
                    if not ended:
                        raise UserError(
                            "parser_failed",
                            "The program that reads the document was ended: the document takes too much memory, or is "
                            "damaged. Save it again, or split it.",
                            {"exit": await process.wait()},
                        )
            except TimeoutError as error:
                raise _too_slow(self.limits.seconds) from error


@asynccontextmanager
async def as_file(chunks: AsyncIterable[bytes]) -> AsyncGenerator[str]:
    """Write bytes to a temporary file, and return its path."""
    handle, path = tempfile.mkstemp(prefix="agio-document-")
    try:
        with os.fdopen(handle, "wb") as file:
            async for data in chunks:
                await asyncio.to_thread(file.write, data)
        yield path
    finally:
        os.unlink(path)


@asynccontextmanager
async def _running(order: bytes) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run a subprocess; its whole group is dead afterwards."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "agio.documents.child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        limit=_LINE_BYTES,
        start_new_session=True,
    )
    try:
        if (stdin := process.stdin) is not None:
            with suppress(ConnectionError):
                stdin.write(order)
                await stdin.drain()
                stdin.close()
        yield process
    finally:
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _line(process: asyncio.subprocess.Process) -> bytes:
    try:
        return b"" if process.stdout is None else await process.stdout.readline()
    except ValueError as error:  # a line beyond the limit
        raise _too_much() from error


def _too_slow(seconds: float) -> UserError:
    return UserError(
        "document_timeout", f"Reading the document took more than {seconds:g} s. Split it and add the parts."
    )


def _too_much() -> UserError:
    return UserError("document_too_large", "The document has too much text. Split it and add the parts.")
