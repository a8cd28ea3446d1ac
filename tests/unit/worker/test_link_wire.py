"""The link as bytes: frames come out as they went in, errors too, and garbage is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agio.core.link import wire
from agio.core.link.link import Answer, Greeting, Task, TaskResult, ToolReply, Welcome
from agio.core.model import Usage, VendorTurn
from agio.core.provider import ModelEndpoint
from agio.core.store.repository import Append, Outcome, Question, ToolBegin, ToolEnd, ToolRecord, TurnRecord
from agio.errors import AgioError, LimitExceeded, ModelError, StoreError, ToolError, UserError
from agio.protocol.events import Interrupt
from agio.protocol.frames import Frame
from agio.protocol.messages import AssistantMessage, ImagePart, UrlSource, UserMessage
from agio.worker.app import App
from tests.unit.worker.ledger import CLAIM, gateway_tool, job
from tests.unit.worker.test_job import ring

WRITE = Append(
    Frame("run_1", 2, 7, 1, b'{"type":"RUN_FINISHED"}\n'),
    [
        TurnRecord(
            "run_1", 1, 6, "a:b", "end", Usage(1, 2), VendorTurn("openai", [{"id": "x", "n": [1.5, None]}])
        )
    ],
    "interrupted",
    "code",
    begins=[ToolBegin("call_1", "ring", "read")],
    ends=[ToolEnd("call_1", "failed")],
    outcome=Outcome(
        messages=[UserMessage(id="u", content="hi"), AssistantMessage(id="a", content="ho")],
        questions=[Question(Interrupt(id="int_1", reason="tool_call"), "ring", "{}")],
        pending=["call_2"],
        goal_met=True,
    ),
)
UP: list[wire.UpFrame] = [
    wire.Greet(
        1, Greeting(worker="w", room=3, tools=App(tools={"ring": ring}).tool_offers(), claims=[CLAIM])
    ),
    wire.Write(2, CLAIM, WRITE),
    wire.Begin(3, CLAIM, "key", "ring", "once"),
    wire.End(4, CLAIM, "key", ToolRecord([ImagePart(source=UrlSource("http://x"))], None)),
    wire.Use(5, CLAIM, "key", "ring", b'{"n":123456789012345678901234567890}'),
    wire.Release(6, CLAIM),
    wire.Leave(7),
    wire.Performed(8, TaskResult("text", Usage(3, 4))),
    wire.Failed(9, "UserError", "code", "message", {"a": [1]}),
]
DOWN: list[wire.DownFrame] = [
    wire.Welcomed(1, Welcome(["run_1"], 10.0, 20.0)),
    wire.Written(2, Answer(True)),
    wire.Begun(3, None),
    wire.Begun(3, ToolRecord(None)),
    wire.Used(4, ToolReply("text", "code")),
    wire.Done(5),
    wire.Start(job("hello", tools=[gateway_tool()], history=[job().log])),
    wire.Cancel("run_1", 2),
    wire.Drop("run_1", 2),
    wire.Perform(6, Task(provider="demo", model="demo", instructions="i", prompt="p")),
    wire.Perform(
        7,
        Task(
            provider="openai",
            model="m",
            instructions="i",
            prompt="p",
            endpoint=ModelEndpoint("openai", "https://models.example", "sk-1"),
            again=False,
        ),
    ),
    wire.Drain(25.0),
    wire.Failed(7, "ModelError", "code", "message", {}, True, 2.5),
]


def test_every_frame_comes_out_as_it_went_in() -> None:
    """R4: jobs and cancels go down, appends and tool calls up, whole."""
    [up] = wire.messages_of(map(wire.encode_frame, UP))
    assert wire.decode_up(up) == UP
    [down] = wire.messages_of(map(wire.encode_frame, DOWN))
    assert wire.decode_down(down) == DOWN


def test_arguments_have_integers_of_any_size() -> None:
    """R7: what the model said reaches the gateway's tool unchanged."""
    use = next(frame for frame in UP if isinstance(frame, wire.Use))
    assert use.decoded() == {"n": 123456789012345678901234567890}


@pytest.mark.parametrize(
    "error",
    [
        UserError("a", "b", {"c": 1}),
        StoreError("stale_epoch", "b"),
        ToolError("a", "b"),
        LimitExceeded("a", "b"),
        ModelError("a", "b", {"d": [1, 2]}, retryable=True, retry_after_s=3.5),
        AgioError("internal_error", "b"),
    ],
)
def test_an_error_comes_out_as_it_was_raised(error: AgioError) -> None:
    """L13: a worker can tell a refusal from a failure, whatever lies between."""
    [message] = wire.messages_of([wire.encode_frame(wire.failed(4, error))])
    [frame] = wire.decode_down(message)
    assert isinstance(frame, wire.Failed)
    found = frame.error()
    assert type(found) is type(error)
    assert (found.code, found.message, found.details) == (error.code, error.message, error.details)
    if isinstance(found, ModelError) and isinstance(error, ModelError):
        assert (found.retryable, found.retry_after_s) == (error.retryable, error.retry_after_s)


def test_details_nobody_can_encode_become_text() -> None:
    """L13: an error is never lost for its details."""
    frame = wire.failed(1, UserError("a", "b", {"c": object, "d": {3}}))
    assert wire.encode_frame(frame)
    assert frame.details == {"c": "<class 'object'>", "d": [3]}


def test_what_the_wire_cannot_say_is_refused_to_whoever_says_it() -> None:
    """L13: a frame that cannot be sent is an error of its own call, and spoils no other."""
    with pytest.raises(StoreError) as raised:
        wire.encode_frame(wire.Performed(1, TaskResult("x", Usage(2**70))))
    assert raised.value.code == "not_storable"
    with pytest.raises(StoreError):
        wire.encode_frame(wire.Use(1, CLAIM, "k", "t", b"x" * 100), limit_bytes=64)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, wire.MESSAGE_BYTES), max_size=8), st.sampled_from([0, 1, 15, 16, 17, 70_000]))
def test_messages_keep_order_and_size(sizes: list[int], small: int) -> None:
    """R6: events stay in order whatever is sent together."""
    frames = [wire.Use(n, CLAIM, "", "", bytes(size)) for n, size in enumerate(sizes)]
    few: list[wire.UpFrame] = [*frames, *(wire.Leave(n) for n in range(small))]
    found: list[wire.UpFrame] = []
    for message in wire.messages_of(map(wire.encode_frame, few)):
        assert len(message) <= wire.MESSAGE_BYTES + 2048
        found += wire.decode_up(message)
    assert found == few


@given(st.binary(max_size=64))
def test_garbage_is_refused_and_nothing_else_happens(data: bytes) -> None:
    """R4: what is no message of the link is refused with a code."""
    for decode in (wire.decode_up, wire.decode_down):
        try:
            frames = decode(data)
        except UserError:
            continue
        assert frames == []
