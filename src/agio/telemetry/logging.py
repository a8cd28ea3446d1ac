"""Writes a server's log: one JSON object per line for programs, or lines of text for people."""

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
"""The attributes of every record; all others are fields of the line."""
NAMED = "named"
"""A record's `extra` may hold its fields in one dict under this name, which is cheaper."""
SOON_S = 0.05
"""How long a per-request line may wait to be written with others."""
_CONTEXT = (("request_id", REQUEST_ID), ("tenant", TENANT), ("run_id", RUN_ID))
_encode = msgspec.json.Encoder(enc_hook=str).encode


@lru_cache(maxsize=4)
def _second(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


class Lines(logging.Formatter):
    """Formats the parts of a line. Errors among its values go through `words_of`."""

    def message_of(self, record: logging.LogRecord) -> str:
        """Return the message of a record."""
        args = record.args
        if args and not isinstance(args, dict):
            for each in args:
                if isinstance(each, BaseException):
                    record.args = tuple(map(_told, args))
                    break
        said = record.getMessage()
        # asyncio appends the repr of a task, which contains the message of its exception.
        return said.partition("\n")[0] if record.name == "asyncio" else said

    def context_of(self, record: logging.LogRecord) -> dict[str, object]:
        """Return a record's request, run and other fields."""
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
    """One JSON object per line: time, level, logger, message, context, and the line's fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as JSON."""
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
        except (TypeError, ValueError, RecursionError):  # a lone surrogate, or a value that cannot be encoded
            return _encode({name: ascii(value) for name, value in line.items()}).decode()


class TextLines(Lines):
    """A line of text, followed by its context in brackets."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as text."""
        moment = f"{datetime.fromtimestamp(record.created):%H:%M:%S}.{int(record.msecs):03d}"
        named = " ".join(f"{name}={value}" for name, value in self.context_of(record).items())
        line = f"{moment} {record.levelname:<7} {record.name}: {self.message_of(record)}"
        line = f"{line} [{named}]" if named else line
        if record.exc_info and record.exc_info[1] is not None:
            return f"{_printable(line)}\n{trace_of(record.exc_info[1])}"
        return _printable(line)


class Sink(logging.StreamHandler[TextIO]):
    """Writes lines. Per-request lines are buffered briefly and written in batches, in order."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._waiting: list[str] = []
        self._writing = threading.Lock()
        atexit.register(self.write_out)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, after the buffered lines."""
        self.write_out()
        super().emit(record)

    def add(self, line: str) -> None:
        """Buffer a line; without an event loop, write it at once."""
        with self._writing:
            self._waiting.append(line)
            if len(self._waiting) > 1:
                return
        try:
            asyncio.get_running_loop().call_later(SOON_S, self.write_out)
        except RuntimeError:
            self.write_out()

    def write_out(self) -> None:
        """Write the buffered lines. Thread-safe: the store's threads log too."""
        with self._writing:
            lines, self._waiting = self._waiting, []
            if lines:
                with suppress(OSError, ValueError):  # the log is closed: keep serving requests
                    self.stream.write("\n".join(lines) + "\n")
                    self.stream.flush()


def write_often(logger: logging.Logger, message: str, named: dict[str, object]) -> None:
    """Log a per-request or per-run line at info: the same output as `logger`, at a fraction of the cost."""
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
    """Log agio's own lines, and the warnings of its dependencies, to standard error.

    The default format is text for a terminal and JSON otherwise. Uncaught errors are logged the same way.
    """
    out: TextIO = stream or sys.stderr
    how = how or ("text" if out.isatty() else "json")
    handler = Sink(out)
    handler.setFormatter(TextLines() if how == "text" else JsonLines())
    logging.raiseExceptions = False  # a formatting error must not print the values
    # No line shows these attributes, and collecting them costs more than all the rest.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    setattr(logging, "_srcfile", None)  # noqa: B010 (logging's own switch)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("agio").setLevel((level or "info").upper())
    if out.isatty() and level is None:  # a person reads the terminal
        logging.getLogger("agio.access").setLevel(logging.WARNING)
    # A refused WebSocket: the client gets the error, and any client could fill the log.
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: "completing handshake" not in record.getMessage()
    )
    # A malformed form: the sender gets the error, and the line would contain a byte of it.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    sys.excepthook = _uncaught
    threading.excepthook = lambda hook: _uncaught(hook.exc_type, hook.exc_value, hook.exc_traceback)


def _told(value: object) -> object:
    return words_of(value) if isinstance(value, BaseException) else value


def _printable(line: str) -> str:
    """Escape line breaks and control characters."""
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if error is None or isinstance(error, KeyboardInterrupt):
        return
    logging.getLogger("agio").critical("Uncaught error.", exc_info=error)
