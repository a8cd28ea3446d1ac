"""A server of the operator's file as a process: a clean environment, its own group, limits, and a certain end."""

import asyncio
import json
import logging
import os
import shutil
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from agio.errors import AgioError, UpstreamError
from agio.tools.mcp.http import MESSAGE_BYTES
from agio.tools.mcp.link import Command

_log = logging.getLogger("agio.mcp")

_FAREWELL_S = 0.4
"""How long it may take to end by itself, and then after SIGTERM."""
_WORDS = 500
_FILES = 1024
_FILE_BYTES = 1 << 30


_Into: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]
_Stream: TypeAlias = (
    MemoryObjectSendStream[SessionMessage]
    | MemoryObjectReceiveStream[SessionMessage]
    | MemoryObjectSendStream[SessionMessage | Exception]
    | MemoryObjectReceiveStream[SessionMessage | Exception]
)


class StdioTransport:
    """A transport of the `mcp` package. `on_end` is called when the process ends by itself."""

    def __init__(self, name: str, command: Command, on_end: Callable[[AgioError], None]) -> None:
        self._name = name
        self._command = command
        self._on_end = on_end
        self._process: Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._streams: tuple[_Stream, ...] = ()
        self._said = ""

    async def __aenter__(self) -> TransportStreams:
        """Start the process. Raises UpstreamError `mcp_command_not_found`."""
        command = self._command
        found = shutil.which(command.command, path=command.env.get("PATH"))
        if found is None:
            raise UpstreamError(
                "mcp_command_not_found",
                f"The command of {self._name} is not on this machine. The operator checks [mcp.{self._name}] in "
                "agio.toml: the command, or PATH in its env.",
                {"sent": False},
            )
        limits = {
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": _FILES,
            "RLIMIT_FSIZE": _FILE_BYTES,
            "RLIMIT_DATA": command.memory_mb * 1024 * 1024,
        }
        launcher = [sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py"))]
        self._process = process = await asyncio.create_subprocess_exec(
            *launcher,
            json.dumps(limits),
            str(os.getpid()),
            found,
            *command.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=command.env,
            cwd="/",
            start_new_session=True,
            limit=MESSAGE_BYTES,
        )
        read_into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, write_from = anyio.create_memory_object_stream[SessionMessage](0)
        self._streams = (read_into, read, write, write_from)
        for part in (
            self._read(process, read_into),
            self._write(process, write_from),
            self._hear(process),
        ):
            self._tasks.append(asyncio.create_task(part))
        return read, write

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the process and everything it started."""
        process = self._process
        if process is None:
            return
        for task in self._tasks:
            task.cancel()
        try:
            if process.stdin is not None:
                process.stdin.close()
            if not await _ends(process):
                _signal(process, signal.SIGTERM)
                await _ends(process)
        finally:  # also when this is cancelled
            _signal(process, signal.SIGKILL)
            for stream in self._streams:
                stream.close()
        await _ends(process)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self, process: Process, into: _Into) -> None:
        """Pass on what the process writes, a message a line."""
        error = f"the process of {self._name} has ended"
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            try:
                while process.stdout is not None and (line := await process.stdout.readline()):
                    await self._take(line, into)
            except ValueError:  # a line without an end
                error = f"{self._name} writes more than {MESSAGE_BYTES} bytes without a line break"
        if await _ends(process):
            error += f" with code {process.returncode}"
            _log.warning("MCP server %s ended with code %s: %s", self._name, process.returncode, self._said)
        into.close()
        self._on_end(UpstreamError("upstream_unreachable", f"It cannot be reached: {error}."))

    async def _take(self, line: bytes, into: _Into) -> None:
        if line.strip():
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                return  # not every program keeps its words to stderr
            await into.send(SessionMessage(message))

    async def _write(self, process: Process, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        with suppress(OSError, RuntimeError, anyio.ClosedResourceError):
            async for message in messages:
                if process.stdin is not None:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    process.stdin.write(text.encode() + b"\n")
                    await process.stdin.drain()

    async def _hear(self, process: Process) -> None:
        """Keep the end of what the process says on stderr, and never let it wait for a reader."""
        while process.stderr is not None and (part := await process.stderr.read(4096)):
            self._said = (self._said + part.decode(errors="replace"))[-_WORDS:]


async def _ends(process: Process) -> bool:
    """Wait a moment for the end. Not `wait()`, which also waits for all who hold its pipes."""
    until = time.monotonic() + _FAREWELL_S
    while process.returncode is None and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return process.returncode is not None


def _signal(process: Process, number: signal.Signals) -> None:
    """Signal the process's group, which it leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
