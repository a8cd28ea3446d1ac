"""Frames on `/link`, also from a worker that holds a run: answered with an error, or the link is closed with a code."""

from collections.abc import Iterator, Sequence
from typing import cast

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.connection import Connection

from agio.core.link import wire
from agio.core.link.link import Claim, Greeting, TaskResult
from agio.core.model import Usage
from agio.core.store.repository import Append, ToolRecord
from agio.errors import UserError
from agio.protocol.frames import Frame
from tests.fuzz.frames import DEEP, NUMBERS, TEXTS, cut
from tests.fuzz.server import WAIT_S, WORKER_KEY, Target, target
from tests.fuzz.size import examples
from tests.support.process import send, start_session

CLOSED = (wire.GARBAGE, wire.SLOW, 1003, 1007, 1008, 1009)
NOBODYS = Claim("run_" + "0" * 26, 1, "t" * 43)
"""As long as a real one, which takes its place byte by byte."""
EVENTS = b'{"type":"CUSTOM","name":"x","value":1}\n'
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), TEXTS, st.binary(max_size=40)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=10,
)
_pack = msgspec.msgpack.encode


def _frames_with(claim: Claim) -> list[wire.UpFrame]:
    """One of each kind, as a worker with this claim would send it."""
    write = Append(Frame(claim.run_id, claim.epoch, 2, 1, EVENTS))
    return [
        wire.Write(2, claim, write),
        wire.Write(3, claim, msgspec.structs.replace(write, end="completed")),
        wire.Begin(4, claim, "key", "calculator", "once"),
        wire.End(5, claim, "key", ToolRecord("text")),
        wire.Use(6, claim, "key", "calculator", b'{"expression":"1+1"}'),
        wire.Read(7, claim, "file_0", 0),
        wire.Release(8, claim),
        wire.Leave(9),
        wire.Performed(10, TaskResult("text", Usage(1, 1))),
        wire.Failed(11, "UserError", "code", "message", {}),
        wire.Greet(12, Greeting(worker="another", room=1)),
    ]


@st.composite
def messages(draw: st.DrawFn, claim: Claim) -> bytes:
    """A message of the link: whole, with other fields, spoilt, or random."""
    good = draw(st.sampled_from(_frames_with(claim)))
    match draw(st.sampled_from(["whole", "fields", "spoilt", "values", "random", "extreme"])):
        case "whole":
            return _pack([good])
        case "fields":
            fields = cast("list[object]", msgspec.msgpack.decode(_pack(good)))
            at = draw(st.integers(0, len(fields) - 1))
            fields[at] = draw(VALUES)
            return _pack([fields])
        case "spoilt":
            return draw(cut(_pack([good])))
        case "values":
            return _pack(draw(VALUES))
        case "random":
            return draw(st.binary(max_size=80))
        case _:
            deep = b"\x91" * 5000 + b"\x90"
            return draw(
                st.sampled_from(
                    [b"", b"\x90", deep, b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xc1"]
                )
            )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """One server for all that is sent here."""
    with target(tmp_path_factory.mktemp("link")) as running:
        yield running


def _connected(server: Target, key: str = WORKER_KEY) -> Connection:
    return server.connect("/link", key)


def _receive(socket: Connection) -> list[wire.DownFrame]:
    return wire.decode_down(cast("bytes", socket.recv(WAIT_S)))


def _greet(socket: Connection, room: int = 0) -> None:
    socket.send(_pack([wire.Greet(1, Greeting(worker="the nonsense worker", room=room))]))
    assert isinstance(_receive(socket)[0], wire.Welcomed)


def _hold(server: Target, socket: Connection) -> Claim:
    """Let a run be given to this worker, which says that it has more room than anybody."""
    _greet(socket, 100_000)
    with server.client() as client:
        run_id = send(client, start_session(client), "For whoever has room.")
    while True:
        for frame in _receive(socket):
            if isinstance(frame, wire.Start) and frame.job.claim.run_id == run_id:
                return frame.job.claim


def _in_the_name_of(claim: Claim, message: bytes) -> bytes:
    named = message.replace(NOBODYS.run_id.encode(), claim.run_id.encode())
    return named.replace(NOBODYS.token.encode(), claim.token.encode())


def _say(socket: Connection, sent: Sequence[bytes | str]) -> int | None:
    """Send messages and then a question; return the code if the socket was closed, None if it was answered."""
    try:
        for message in sent:
            socket.send(message)
        socket.send(_pack([wire.Read(2**40, NOBODYS, "file_0", 0)]))
        while True:
            for frame in _receive(socket):
                if isinstance(frame, wire.Failed):
                    if frame.id == 2**40:
                        return None
                    if frame.code == "internal_error":
                        raise AssertionError((sent, frame))
    except ConnectionClosed as closed:
        return 0 if closed.rcvd is None else closed.rcvd.code


BOUNDED = settings(
    derandomize=True,
    deadline=None,
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@BOUNDED
@given(sent=st.lists(messages(NOBODYS), min_size=1, max_size=4))
def test_whatever_comes_before_a_greeting_closes_the_link(server: Target, sent: list[bytes]) -> None:
    """R7: who does not greet is no worker."""
    with _connected(server) as socket:
        if not _greets(sent[0]):
            assert _say(socket, sent) in CLOSED


def _greets(message: bytes) -> bool:
    try:
        return isinstance(wire.decode_up(message)[0], wire.Greet)
    except (UserError, IndexError):
        return False


@BOUNDED
@given(sent=st.lists(messages(NOBODYS), min_size=1, max_size=6))
def test_whatever_follows_a_greeting_is_answered_or_closes_the_link(
    server: Target, sent: list[bytes]
) -> None:
    """R7: a worker without a run gets errors with a code, or is sent away."""
    with _connected(server) as socket:
        _greet(socket)
        assert _say(socket, sent) in (None, *CLOSED)


@BOUNDED
@given(sent=st.lists(messages(NOBODYS), min_size=1, max_size=6))
def test_whatever_a_worker_with_a_run_sends_is_answered_or_closes_the_link(
    server: Target, sent: list[bytes]
) -> None:
    """R7: a real claim opens nothing but its run, and its run comes to an end without the worker."""
    with _connected(server) as socket:
        claim = _hold(server, socket)
        assert claim.epoch == NOBODYS.epoch
        mine = [_in_the_name_of(claim, message) for message in sent]
        assert _say(socket, mine) in (None, *CLOSED)


def test_text_and_what_is_too_large_close_the_link(server: Target) -> None:
    """R7: the link is binary, and bounded."""
    for sent in ("text", DEEP, b"\xc6" + b"\0" * (wire.MAX_UP_BYTES + 1)):
        with _connected(server) as socket:
            _greet(socket)
            assert _say(socket, [sent]) in (*CLOSED, 0)


def test_a_stranger_is_turned_away_at_the_link(server: Target) -> None:
    """R7: without the key there is nobody to send frames to."""
    for key in ("", "x", "agiow_" + "A" * 43, "\x80" * 40):
        with pytest.raises(InvalidStatus), _connected(server, key):
            pass


@BOUNDED
@given(body=st.one_of(st.binary(max_size=400), TEXTS.map(str.encode), NUMBERS.map(lambda n: str(n).encode())))
def test_a_heartbeat_is_a_workers_or_gone(server: Target, body: bytes) -> None:
    """R7: whoever it is said to be from, it is answered with a status of its own."""
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        shown = {"authorization": f"Bearer {WORKER_KEY}"}
        assert client.post("/link/heartbeat", content=body, headers=shown).status_code in (200, 410)
        assert client.post("/link/heartbeat", content=body).status_code == 401
