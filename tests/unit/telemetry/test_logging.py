"""Lines of the log: their shape, and what may not be in them."""

import asyncio
import io
import json
import logging
import sys
import threading
from collections.abc import Generator
from typing import Any

import msgspec
import pydantic
import pytest

from agio.core.store.repository import RunInfo
from agio.errors import BusError, ModelError, StoreError, UserError
from agio.telemetry.context import REQUEST_ID, RUN_ID, TENANT, about, accept_request_id, bind_run
from agio.telemetry.errors import trace_of, words_of
from agio.telemetry.logging import SOON_S, JsonLines, Sink, TextLines, set_up_logging, write_often

CANARY = "canary-7f3a"
SWITCHES = ("raiseExceptions", "logThreads", "logProcesses", "logMultiprocessing", "_srcfile")
INFO = RunInfo(
    run_id="run_1",
    session_id="ses_1",
    agent="Ada",
    model="demo:demo",
    status="running",
    epoch=1,
    last_seq=0,
    created_at=0,
    ended_at=None,
    mark="m",
    tenant="acme",
    user="ann",
    first_pos=0,
    request_id="req-9",
)


class Body(pydantic.BaseModel):
    """What somebody sends."""

    count: int


@pytest.fixture
def clean() -> Generator[None]:
    """Take back what setting the log up changes in this process, and any context."""
    root, ours = logging.getLogger(), logging.getLogger("agio")
    before = (root.handlers[:], root.level, ours.level, sys.excepthook, threading.excepthook)
    switches = {name: getattr(logging, name) for name in SWITCHES}
    tokens = [(variable, variable.set("")) for variable in (REQUEST_ID, TENANT, RUN_ID)]
    yield
    for variable, token in tokens:
        variable.reset(token)
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])
    sys.excepthook, threading.excepthook = before[3:]
    for name, value in switches.items():
        setattr(logging, name, value)


@pytest.fixture
def log(clean: None) -> io.StringIO:
    """A log in JSON."""
    out = io.StringIO()
    set_up_logging("json", "info", out)
    return out


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def raised(error: Exception) -> Exception:
    try:
        raise error  # noqa: TRY301
    except Exception as caught:
        return caught


def test_a_line_is_one_json_object_with_time_level_logger_message_and_context(log: io.StringIO) -> None:
    """S13: every line can be read by a program and tells which request, tenant and run it is about."""
    REQUEST_ID.set("req-1")
    TENANT.set("acme")
    logging.getLogger("agio.test").info(
        "did %s\nand more", "it", extra={"ms": 1.5, "code": None, "run_id": "run_7"}
    )
    [line] = lines(log)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "agio.test",
        "message": "did it\nand more",
        "request_id": "req-1",
        "tenant": "acme",
        "ms": 1.5,
        "run_id": "run_7",
    }
    assert log.getvalue().count("\n") == 1


def test_whoever_works_on_a_run_writes_lines_about_it(log: io.StringIO) -> None:
    """S13: a run's request id is in the lines of the task that works on it, and can be named by others."""
    logging.getLogger("agio.test").warning("late", extra=about(INFO))
    bind_run(INFO)
    logging.getLogger("agio.test").warning("late")
    for line in lines(log):
        assert (line["request_id"], line["tenant"], line["run_id"]) == ("req-9", "acme", "run_1")


def test_text_is_one_line_whatever_it_is_made_of(clean: None) -> None:
    """S13: a value cannot begin a line of its own, nor speak to the terminal."""
    out = io.StringIO()
    set_up_logging("text", None, out)
    logging.getLogger("agio.test").info("got %s", "a\nINFO forged\x1b[31m\ud800", extra={"ms": 2})
    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().endswith("[ms=2]\n")


def test_the_format_follows_the_stream_and_the_level_is_kept(clean: None) -> None:
    """S13: what is no terminal gets JSON; below the level nothing is written."""
    out = io.StringIO()
    set_up_logging(None, "error", out)
    logging.getLogger("agio.test").warning("quiet")
    logging.getLogger("agio.test").error("loud")
    assert [line["message"] for line in lines(out)] == ["loud"]


def validation_error() -> Exception:
    try:
        Body.model_validate({"count": CANARY})
    except pydantic.ValidationError as error:
        return error
    raise AssertionError


def decoding_error() -> Exception:
    class Kind(msgspec.Struct, tag_field="kind", tag="known"):
        pass

    try:
        msgspec.json.decode(json.dumps({"kind": CANARY}), type=Kind)
    except msgspec.ValidationError as error:
        return error
    raise AssertionError


UNTOLD = [
    validation_error(),
    decoding_error(),
    raised(KeyError(CANARY)),
    raised(ValueError(f"invalid literal: {CANARY}")),
    raised(RuntimeError(CANARY)),
    raised(FileNotFoundError(2, "No such file or directory", CANARY)),
    raised(UserError("invalid_body", CANARY, {"field": CANARY})),
    raised(ModelError("bad_request", f"The model said: {CANARY}.")),
    raised(ExceptionGroup(CANARY, [KeyError(CANARY)])),
]


@pytest.mark.parametrize("error", UNTOLD, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("form", [JsonLines(), TextLines()], ids=["json", "text"])
def test_what_somebody_sent_is_not_in_an_errors_line(form: logging.Formatter, error: Exception) -> None:
    """S13: neither as a value of the line, nor as its traceback, nor as what asyncio says of a task."""
    cause = raised(RuntimeError("outer"))
    cause.__cause__ = error
    for record in (
        logging.LogRecord("agio.test", logging.ERROR, "", 0, "failed: %s", (error,), None),
        logging.LogRecord(
            "agio.test", logging.ERROR, "", 0, "failed", (), (type(error), error, error.__traceback__)
        ),
        logging.LogRecord(
            "agio.test", logging.ERROR, "", 0, "failed", (), (type(cause), cause, cause.__traceback__)
        ),
        logging.LogRecord("asyncio", logging.ERROR, "", 0, f"Task exception\nfuture: {error!r}", (), None),
        logging.makeLogRecord({"name": "agio.test", "msg": "failed", "levelname": "ERROR", "why": error}),
    ):
        line = form.format(record)
        assert CANARY not in line
        assert "failed" in line or "Task exception" in line


def test_an_error_is_told_with_its_kind_its_code_and_where_it_came_from() -> None:
    """S13: what an operator needs is there: the calls, the code, and the words of our own parts."""
    assert words_of(StoreError("store_full", "The disk is full.")) == "The disk is full. [store_full]"
    assert words_of(BusError("bus_lost", "Nobody rings.")) == "Nobody rings. [bus_lost]"
    assert words_of(UserError("agent_exists", "Ada is there.")) == "[agent_exists]"
    assert words_of(OSError(28, "No space left on device", "/secret")) == "OSError: No space left on device"
    assert (
        words_of(TypeError("a bytes-like object is required")) == "TypeError: a bytes-like object is required"
    )
    trace = trace_of(raised(KeyError("x")))
    assert "in raised" in trace
    assert trace.endswith("KeyError")


def test_what_nobody_catches_in_a_thread_is_a_line_without_its_words(log: io.StringIO) -> None:
    """S13: also what ends a thread goes through the log."""

    def fail() -> None:
        raise ValueError(CANARY)

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join(60)
    [line] = lines(log)
    assert (line["level"], line["error"]) == ("critical", "ValueError")
    assert CANARY not in log.getvalue()


@pytest.mark.parametrize("given", [b"a", b"abc.DEF_1-2", b"x" * 64])
def test_a_sane_request_id_is_kept(given: bytes) -> None:
    """S13: the browser may choose the id."""
    assert accept_request_id(given) == given.decode()


@pytest.mark.parametrize(
    "given", [None, b"", b"x" * 65, b"a b", b"a\nb", b"\xff", b"a\r\nset-cookie: x", b"<b>"]
)
def test_any_other_request_id_is_replaced(given: bytes | None) -> None:
    """S13: what could break a line, a header or a page is not taken."""
    made = accept_request_id(given)
    assert made.startswith("req_")
    assert made != accept_request_id(given)


async def test_lines_of_requests_are_written_together_soon_and_in_order(log: io.StringIO) -> None:
    """S13: they wait a moment for each other; whatever is said meanwhile comes after them."""
    logger = logging.getLogger("agio.access")
    root = logging.getLogger()
    root.handlers[:] = [
        each for each in root.handlers if isinstance(each, Sink)
    ]  # pytest listens too, and every line would go to both at once
    REQUEST_ID.set("req-1")
    write_often(logger, "first", {"status": 200, "user": ""})
    write_often(logger, "second", {"status": 201})
    assert log.getvalue() == ""
    logging.getLogger("agio.db").warning("third")
    assert [line["message"] for line in lines(log)] == ["first", "second", "third"]
    assert {key: value for key, value in lines(log)[0].items() if key != "time"} == {
        "level": "info",
        "logger": "agio.access",
        "message": "first",
        "request_id": "req-1",
        "status": 200,
    }
    write_often(logger, "fourth", {})
    later = asyncio.Event()
    asyncio.get_running_loop().call_later(2 * SOON_S, later.set)  # after the sink's own timer
    await asyncio.wait_for(later.wait(), 60)
    assert [line["message"] for line in lines(log)][3:] == ["fourth"]
