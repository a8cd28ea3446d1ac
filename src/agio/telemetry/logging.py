"""How a server writes its log: a JSON object a line for programs, or a line of text for people."""

import asyncio
import atexit
import logging
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Literal, TextIO, TypeAlias

import msgspec

from agio.telemetry.context import REQUEST_ID, RUN_ID, TENANT
from agio.telemetry.errors import trace_of, words_of

Format: TypeAlias = Literal["json", "text"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""The attributes of every record; others are a line's own fields."""
NAMED = "named"
"""A record's `extra` may be one dict of this name: it is cheaper than many."""
SOON_S = 0.05
"""How long a line that every request causes may wait for others."""
_CONTEXT = (("request_id", REQUEST_ID), ("tenant", TENANT), ("run_id", RUN_ID))
_encode = msgspec.json.Encoder(enc_hook=str).encode


@lru_cache(maxsize=4)
def _second(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


class Lines(logging.Formatter):
    """Makes the parts of a line. Errors among its values are said as `words_of` says them."""

    def message_of(self, record: logging.LogRecord) -> str:
        """Return what a record says."""
        args = record.args
        if args and not isinstance(args, dict):
            for each in args:
                if isinstance(each, BaseException):
                    record.args = tuple(map(_told, args))
                    break
        said = record.getMessage()
        # asyncio goes on with the repr of a task, which has the words of what it raised.
        return said.partition("\n")[0] if record.name == "asyncio" else said

    def context_of(self, record: logging.LogRecord) -> dict[str, object]:
        """Return which request and run a record is about, and what else it names."""
        context: dict[str, object] = {}
        for name, variable in _CONTEXT:
            if value := variable.get():
                context[name] = value
        named: dict[str, object] | None = getattr(record, NAMED, None)
        for name, value in vars(record).items() if named is None else named.items():
            if name not in _OWN and value is not None and value != "":
                context[name] = _told(value)
        return context


class JsonLines(Lines):
    """One JSON object a line: time, level, logger, message, the context, and what the line names."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record as JSON."""
        line: dict[str, object] = {
            "time": f"{_second(int(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.message_of(record),
            **self.context_of(record),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = words_of(record.exc_info[1])
            line["traceback"] = trace_of(record.exc_info[1])
        try:
            return _encode(line).decode()
        except (TypeError, ValueError, RecursionError):  # a lone surrogate, a value that cannot be said
            return _encode({name: ascii(value) for name, value in line.items()}).decode()


class TextLines(Lines):
    """A line of text, its context in brackets behind it."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record as text."""
        moment = f"{datetime.fromtimestamp(record.created):%H:%M:%S}.{int(record.msecs):03d}"
        named = " ".join(f"{name}={value}" for name, value in self.context_of(record).items())
        line = f"{moment} {record.levelname:<7} {record.name}: {self.message_of(record)}"
        line = f"{line} [{named}]" if named else line
        if record.exc_info and record.exc_info[1] is not None:
            return f"{_printable(line)}\n{trace_of(record.exc_info[1])}"
        return _printable(line)


class Sink(logging.StreamHandler[TextIO]):
    """Writes lines. Those that every request causes wait a moment, and are written many at once, in their order."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._waiting: list[str] = []
        self._writing = threading.Lock()
        atexit.register(self.write_out)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, after what waits."""
        self.write_out()
        super().emit(record)

    def add(self, line: str) -> None:
        """Let a line wait; without an event loop it is written at once."""
        with self._writing:
            self._waiting.append(line)
            if len(self._waiting) > 1:
                return
        try:
            asyncio.get_running_loop().call_later(SOON_S, self.write_out)
        except RuntimeError:
            self.write_out()

    def write_out(self) -> None:
        """Write what waits. Threads of the store write to the log too."""
        with self._writing:
            lines, self._waiting = self._waiting, []
            if lines:
                with suppress(OSError, ValueError):  # the log is gone: requests are served on
                    self.stream.write("\n".join(lines) + "\n")
                    self.stream.flush()


def write_often(logger: logging.Logger, message: str, named: dict[str, object]) -> None:
    """Write a line that every request or run causes, at info: what `logger` would, at a fraction of the cost."""
    handlers = logging.root.handlers
    sink = handlers[0] if len(handlers) == 1 else None
    if not isinstance(sink, Sink) or not isinstance(sink.formatter, JsonLines):
        logger.info(message, extra={NAMED: named})
        return
    now = time.time()
    line: dict[str, object] = {
        "time": f"{_second(int(now))}.{int(now * 1000) % 1000:03d}Z",
        "level": "info",
        "logger": logger.name,
        "message": message,
    }
    for name, variable in _CONTEXT:
        if value := variable.get():
            line[name] = value
    line |= {name: value for name, value in named.items() if value is not None and value != ""}
    try:
        sink.add(_encode(line).decode())
    except (TypeError, ValueError):  # a lone surrogate
        logger.info(message, extra={NAMED: named})


def set_up_logging(
    how: Format | None = None, level: Level | None = None, stream: TextIO | None = None
) -> None:
    """Write agio's own lines, and warnings of what it is built on, to standard error.

    Without a format: text for a terminal, JSON for anything else. Uncaught errors are written the same way.
    """
    out: TextIO = stream or sys.stderr
    how = how or ("text" if out.isatty() else "json")
    handler = Sink(out)
    handler.setFormatter(TextLines() if how == "text" else JsonLines())
    logging.raiseExceptions = False  # a line that fails must not print its values
    # No line tells them, and finding them out costs more than all the rest.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    setattr(logging, "_srcfile", None)  # noqa: B010 (logging's own switch)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("agio").setLevel((level or "info").upper())
    if out.isatty() and level is None:  # a person reads the terminal
        logging.getLogger("agio.access").setLevel(logging.WARNING)
    # A refused WebSocket: its client has the error, and any client could fill the log.
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: "completing handshake" not in record.getMessage()
    )
    # A malformed form: its sender has the error, and the line would contain a byte of it.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    sys.excepthook = _uncaught
    threading.excepthook = lambda hook: _uncaught(hook.exc_type, hook.exc_value, hook.exc_traceback)


def _told(value: object) -> object:
    return words_of(value) if isinstance(value, BaseException) else value


def _printable(line: str) -> str:
    """Return a line that is one line, and says nothing to a terminal that only a program can say."""
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if error is None or isinstance(error, KeyboardInterrupt):
        return
    logging.getLogger("agio").critical("Uncaught error.", exc_info=error)
