"""Frames on `/realtime`, good, spoilt and neither: each is answered, or the socket is closed with a code."""

import json
from collections.abc import Iterator
from socket import SHUT_RDWR
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.connection import Connection

from agio.core.config import ServerLimits
from tests.fuzz.frames import DEEP, LONG, TEXTS, VALUES, Json, cut, encoded, spoilt
from tests.fuzz.server import WAIT_S, Target, target
from tests.fuzz.size import examples
from tests.support.process import KEY, answer_of, start_session

SESSION = "ses_of_the_test"
COMMANDS: list[dict[str, Json]] = [
    {"type": "message", "id": "1", "content": "Hello", "session_id": SESSION, "client_message_id": "m1"},
    {"type": "message", "id": "2", "content": [{"type": "text", "text": "Hi"}], "agent_id": SESSION},
    {"type": "subscribe", "id": "3", "session_id": SESSION, "after": 0},
    {"type": "unsubscribe", "id": "4", "session_id": SESSION},
    {"type": "cancel", "id": "5", "session_id": SESSION},
    {"type": "cancel", "id": "6", "run_id": "run_0"},
    {
        "type": "approve",
        "id": "7",
        "session_id": SESSION,
        "answers": [{"interrupt_id": "int_0", "approved": True, "edited_args": {}}],
    },
    {"type": "ping", "id": "8"},
]
FRAMES: st.SearchStrategy[str | bytes] = st.one_of(
    st.sampled_from(COMMANDS).flatmap(spoilt).map(encoded),
    st.sampled_from(COMMANDS).map(encoded),
    st.sampled_from(COMMANDS)
    .flatmap(lambda good: cut(encoded(good).encode()))
    .map(lambda raw: raw.decode("latin-1")),
    VALUES.map(encoded),
    TEXTS,
    st.binary(max_size=60),
    st.sampled_from(
        [LONG, json.dumps({"type": "ping", "id": LONG}), DEEP, '{"type":' * 3000, "", b"", b"\xff"]
    ),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """One server for all that is sent here."""
    with target(tmp_path_factory.mktemp("realtime")) as running:
        yield running


def _connected(server: Target, key: str = KEY) -> Connection:
    return server.connect("/realtime", key)


LIMIT_BYTES = ServerLimits().json_body_bytes


def _session(server: Target) -> str:
    with server.client() as client:
        return start_session(client)


def _say(socket: Connection, frames: list[str | bytes]) -> int | None:
    """Send frames and then a ping; return the code if the socket was closed, None if the ping was answered."""
    try:
        for frame in frames:
            socket.send(frame)
        socket.send('{"type":"ping","id":"the last"}')
        while True:
            answer = cast("dict[str, object]", json.loads(socket.recv(WAIT_S)))
            if answer == {"type": "pong", "id": "the last"}:
                return None
            if answer["type"] == "error":
                problem = cast("dict[str, object]", answer["error"])
                assert problem["code"] not in ("", "internal_error"), (frames, answer)
                assert "Traceback" not in str(problem)
    except ConnectionClosed as closed:
        return 0 if closed.rcvd is None else closed.rcvd.code


@settings(
    derandomize=True,
    deadline=None,
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(frames=st.lists(FRAMES, min_size=1, max_size=8))
def test_whatever_comes_on_the_socket_is_answered_or_the_socket_is_closed(
    server: Target, frames: list[str | bytes]
) -> None:
    """S14: no frame, whole, spoilt or not even text, ends in anything but an answer or a close code."""
    session = _session(server)
    mine = [frame.replace(SESSION, session) if isinstance(frame, str) else frame for frame in frames]
    with _connected(server) as socket:
        closed = _say(socket, mine)
    # The close code of a frame over the limit may be lost with what the client was still sending.
    assert closed in (None, 1003, 1007, 1008, 1009) or any(len(frame) > LIMIT_BYTES for frame in mine)


def test_half_messages_and_a_lost_connection_harm_nobody(server: Target) -> None:
    """S14: a message in pieces is one message, and one that never ends is nobody's."""
    with _connected(server) as socket:
        socket.send(iter(['{"type":"pi', 'ng","id"', ':"in pieces"}']))
        assert json.loads(socket.recv(WAIT_S)) == {"type": "pong", "id": "in pieces"}
    for _ in range(20):
        with _connected(server) as socket:
            socket.socket.sendall(b"\x01\x85\0\0\0\0hello")  # a first piece, and no last one
            socket.socket.shutdown(SHUT_RDWR)


def test_commands_out_of_order_and_after_the_end_are_answered(server: Target) -> None:
    """S14: what is not there is not found, however often and in whatever order it is asked for."""
    session = _session(server)
    commands = [json.dumps(command).replace(SESSION, session) for command in COMMANDS]
    with _connected(server) as socket:
        assert _say(socket, [*reversed(commands), *commands, *reversed(commands)]) is None
    with server.client() as client:
        assert client.delete(f"/api/agent-sessions/{session}").status_code == 204
    with _connected(server) as socket:
        assert _say(socket, list(commands)) is None


def test_twenty_frames_of_nonsense_close_the_socket(server: Target) -> None:
    """S14: somebody who says nothing that can be read is not listened to for ever."""
    with _connected(server) as socket:
        assert _say(socket, ["nonsense"] * 40) == 1008


def test_a_revoked_key_is_not_listened_to(server: Target) -> None:
    """S14: whatever comes after the revocation, the answer is the end."""
    with server.client() as client:
        made = answer_of(client.post("/api/api-keys", json={"name": "short-lived"}))
        with _connected(server, str(made["key"])) as socket:
            assert _say(socket, []) is None
            assert client.delete(f"/api/api-keys/{made['id']}").status_code == 204
            assert _say(socket, [json.dumps(command) for command in COMMANDS]) == 1008
