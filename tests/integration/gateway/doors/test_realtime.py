"""The WebSocket: commands and their answers, events as the log has them, and clients that misbehave."""

import asyncio

import msgspec
import pytest

from agio import ScriptedCall, ScriptedTurn, tool
from agio.core.config import ServerLimits
from agio.tools.calculator import calculator
from tests.integration.gateway.streams import Json, Talking, server
from tests.support.engine import QUICK

TURNS = [
    ScriptedTurn(text="Let me count.", calls=[ScriptedCall("calculator", {"expression": "6 * 7"})]),
    ScriptedTurn(text="It is forty two."),
]


@tool(approval="ask")
def post(text: str) -> str:
    """Post a text."""
    return f"posted {text}"


def _code(answer: Json) -> str:
    return answer["error"]["code"]


def _bytes(talking: Talking, session_id: str) -> list[bytes]:
    """Return a session's events as they were spelled."""
    spelled: dict[int, bytes] = {}
    for message in talking.messages:
        if message["type"] == "events" and message["session_id"] == session_id:
            raw = msgspec.json.decode(message["text"], type=dict[str, msgspec.Raw])
            events = msgspec.json.decode(raw["events"], type=list[msgspec.Raw])
            spelled.update((pos, bytes(event)) for pos, event in enumerate(events, message["pos"]))
    return [spelled[pos] for pos in sorted(spelled)]


async def test_a_message_is_acknowledged_when_it_is_stored_and_its_run_streams() -> None:
    """R1, R3, R6: the ack names a stored run; subscribed, its events come as the log has them."""
    async with server(TURNS, tools=[calculator]) as house:
        session = await house.session("calculator")
        socket = house.socket()
        ack = await socket.command("message", session_id=session.id, content="Six times seven?")
        run = await house.store.find_run("default", "ann", ack["run_id"])
        assert (ack["type"], ack["session_id"], run.session_id) == ("ack", session.id, session.id)
        stored = await house.store.find_messages("default", "ann", session.id, [ack["message_id"]])
        assert [message.run_id for message in stored] == [ack["run_id"]]
        subscribed = await socket.command("subscribe", session_id=session.id, after=0)
        assert (subscribed["after"], "repeated" in ack) == (0, False)
        lines = await house.ended(session, ack["run_id"])
        await socket.count(session.id, len(lines))
        assert _bytes(socket, session.id) == lines
        assert {m["run_id"] for m in socket.messages if m["type"] == "events"} == {ack["run_id"]}
        await socket.leave()
        assert house.hub.open_streams == 0


async def test_a_socket_cut_after_every_event_and_resumed_sees_the_uncut_bytes() -> None:
    """R1, L9, B1: `after` is the last position seen; over two runs, nothing lost and nothing twice."""
    async with server([*TURNS, *TURNS], tools=[calculator]) as house:
        session = await house.session("calculator")
        for text in ("Six times seven?", "Again?"):
            lines = await house.ended(session, await house.say(session, text))
        for cut in range(len(lines)):
            socket = house.socket()
            await socket.command("subscribe", session_id=session.id, after=cut)
            await socket.count(session.id, len(lines) - cut)
            assert _bytes(socket, session.id) == lines[cut:]
            await socket.leave()


async def test_sockets_that_come_and_go_during_a_run_see_all_of_it_together() -> None:
    """B1: each goes on where the one before was cut, while the run goes on."""
    hold = asyncio.Event()
    async with server([ScriptedTurn(text="one two three four five", waits=hold)]) as house:
        session = await house.session()
        run_id = await house.say(session, "Count")
        seen: list[bytes] = []
        for count in (2, 3, 2):
            socket = house.socket()
            await socket.command("subscribe", session_id=session.id, after=len(seen))
            await socket.count(session.id, count)
            seen += _bytes(socket, session.id)[:count]
            await socket.leave()
        hold.set()
        lines = await house.ended(session, run_id)
        socket = house.socket()
        await socket.command("subscribe", session_id=session.id, after=len(seen))
        await socket.count(session.id, len(lines) - len(seen))
        assert seen + _bytes(socket, session.id) == lines
        await socket.leave()


async def test_one_socket_reads_several_sessions_and_leaves_one() -> None:
    """R1: events say whose they are; after the ack of `unsubscribe` none of that session comes."""
    turns = [ScriptedTurn(text=f"Answer {number}.") for number in range(4)]
    async with server(turns) as house:
        one, two = await house.session(), await house.session()
        socket = house.socket()
        for session in (one, two):
            await socket.command("subscribe", session_id=session.id)
        logs = [await house.ended(session, await house.say(session, "Hi")) for session in (one, two)]
        for session, log in zip((one, two), logs, strict=True):
            await socket.count(session.id, len(log))
            assert _bytes(socket, session.id) == log
        await socket.command("unsubscribe", session_id=one.id)
        assert house.hub.open_streams == 1
        for session in (one, two):
            logs.append(await house.ended(session, await house.say(session, "Hi")))
        await socket.count(two.id, len(logs[3]))
        assert _bytes(socket, one.id) == logs[0]
        again = await socket.command("unsubscribe", session_id=one.id)
        assert again["type"] == "ack"
        await socket.leave()


async def test_subscribing_again_begins_where_it_says() -> None:
    """R1: the second `subscribe` replaces the first."""
    async with server([ScriptedTurn(text="One.")]) as house:
        session = await house.session()
        lines = await house.ended(session, await house.say(session, "Hi"))
        socket = house.socket()
        await socket.command("subscribe", session_id=session.id, after=len(lines))
        ack = await socket.command("subscribe", session_id=session.id)
        await socket.count(session.id, len(lines))
        assert ack["after"] == 0
        assert house.hub.open_streams == 1
        await socket.leave()


async def test_a_message_to_an_agent_starts_one_session_and_one_run() -> None:
    """R3: sent twice under one client_message_id it is one message; another content is refused."""
    async with server([ScriptedTurn(text="Hello.")] * 3) as house:
        agent_id = await house.agent()
        socket = house.socket()
        given = {"agent_id": agent_id, "content": "Hi", "client_message_id": "m1"}
        first = await socket.command("message", **given)
        again = await socket.command("message", **given)
        assert again["repeated"] is True
        assert [again[key] for key in ("session_id", "run_id")] == [
            first[key] for key in ("session_id", "run_id")
        ]
        other = await socket.command("message", **(given | {"content": "Ho"}))
        assert _code(other) == "idempotency_conflict"
        free = await socket.command("message", agent_id=agent_id, content="Hi")
        assert free["session_id"] != first["session_id"]
        await socket.leave()


async def test_a_busy_session_does_with_a_message_what_it_says() -> None:
    """R3: `refuse` is an error with a code; `queue` waits its turn."""
    hold = asyncio.Event()
    async with server([ScriptedTurn(text="One.", waits=hold), ScriptedTurn(text="Two.")]) as house:
        session = await house.session()
        socket = house.socket()
        await socket.command("message", session_id=session.id, content="Hi")
        refused = await socket.command("message", session_id=session.id, content="Hi", on_busy="refuse")
        assert _code(refused) == "session_busy"
        queued = await socket.command("message", session_id=session.id, content="Hi", on_busy="queue")
        hold.set()
        assert (await house.room.ended(session, queued["run_id"])).status == "completed"
        await socket.leave()


async def test_a_run_is_cancelled_by_session_or_by_run() -> None:
    """L14: the ack names the runs that stop."""
    never = asyncio.Event()
    async with server([ScriptedTurn(text="One.", waits=never)] * 2) as house:
        session = await house.session()
        socket = house.socket()
        for target in ("session_id", "run_id"):
            sent = await socket.command("message", session_id=session.id, content="Hi")
            ack = await socket.command("cancel", **{target: sent[target]})
            assert ack["run_ids"] == [sent["run_id"]]
            assert (await house.room.ended(session, sent["run_id"])).status == "cancelled"
        nothing = await socket.command("cancel", session_id=session.id)
        assert nothing["run_ids"] == []
        await socket.leave()


async def test_questions_are_answered_and_the_run_goes_on() -> None:
    """B7: `approve` answers all open questions at once and starts the next run."""
    calls = [ScriptedCall("post", {"text": "a"}), ScriptedCall("post", {"text": "b"})]
    turns = [ScriptedTurn(calls=calls), ScriptedTurn(text="Done.")]
    async with server(turns, tools=[post]) as house:
        session = await house.session("post")
        socket = house.socket()
        sent = await socket.command("message", session_id=session.id, content="Post a and b")
        assert (await house.room.ended(session, sent["run_id"])).status == "interrupted"
        asked = await house.store.list_interrupts("default", "ann", session.id)
        yes, no = sorted(asked, key=lambda question: question.tool_call_id)
        answers: list[Json] = [
            {"interrupt_id": yes.id, "approved": True, "edited_args": {"text": "c"}},
            {"interrupt_id": no.id, "approved": False, "reason": "Not b."},
        ]
        partial = await socket.command("approve", session_id=session.id, answers=answers[:1])
        assert _code(partial) == "incomplete_answer"
        ack = await socket.command("approve", session_id=session.id, answers=answers)
        lines = await house.ended(session, ack["run_id"])
        assert any(b"posted c" in line for line in lines)
        assert any(b"Not b." in line for line in lines)
        await socket.leave()


async def test_what_belongs_to_somebody_else_is_not_there() -> None:
    """R2: a stranger's ids are unknown to every command."""
    async with server([ScriptedTurn(text="One.")]) as house:
        session = await house.session()
        run_id = await house.say(session, "Hi")
        socket = house.socket(key="bob")
        refused = [
            await socket.command("message", session_id=session.id, content="Hi"),
            await socket.command("subscribe", session_id=session.id),
            await socket.command("cancel", session_id=session.id),
            await socket.command("cancel", run_id=run_id),
            await socket.command(
                "approve", session_id=session.id, answers=[{"interrupt_id": "int_1", "approved": True}]
            ),
        ]
        codes = [_code(answer) for answer in refused]
        assert codes == ["session_not_found"] * 3 + ["run_not_found", "session_not_found"]
        await socket.leave()


@pytest.mark.parametrize(
    ("key", "headers", "status"),
    [
        ("", {}, 401),
        ("ann", {"origin": "https://evil.example"}, 403),
        ("", {"cookie": "__Host-agio_session=" + "x" * 43, "origin": "http://127.0.0.1"}, 401),
    ],
    ids=["no credential", "another site's page", "an unknown cookie"],
)
async def test_a_handshake_that_may_not_be_is_refused_before_it_is_accepted(
    key: str, headers: dict[str, str], status: int
) -> None:
    """R1, R2: with a status, as an HTTP answer."""
    async with server() as house:
        socket = house.socket(key=key, headers=headers)
        await socket.done()
        assert socket.status == status
        assert "websocket.accept" not in [message["type"] for message in socket.sent]


GARBAGE = [
    "",
    "x",
    "[]",
    "null",
    '"ping"',
    "{}",
    '{"type":"ping"}',
    '{"id":"1","type":"dance"}',
    '{"id":"1","type":"ping","more":1}',
    '{"id":"","type":"ping"}',
    '{"id":1,"type":"ping"}',
    '{"id":"1","type":"message","content":"Hi"}',
    '{"id":"1","type":"message","content":"Hi","session_id":"s","agent_id":"a"}',
    '{"id":"1","type":"message","content":7,"session_id":"s"}',
    '{"id":"1","type":"message","content":"a\\u0000b","session_id":"s"}',
    '{"id":"1","type":"subscribe","session_id":"s","after":-1}',
    '{"id":"1","type":"subscribe","session_id":"s","after":1e40}',
    '{"id":"1","type":"cancel"}',
    '{"id":"1","type":"approve","session_id":"s","answers":[]}',
    '{"id":"1","type":"approve","session_id":"s","answers":[{"interrupt_id":"i"}]}',
    '{"id":"1","type":"approve","session_id":"s","answers":[{"interrupt_id":"i","approved":true,"edited_args":'
    + '{"a":' * 40
    + "1"
    + "}" * 40
    + "}]}",
    "[" * 100_000,
    '{"id":"1","type":"ping"',
    "\ud83d",
    '{"id":"1","type":"ping"}{"id":"2","type":"ping"}',
]


@pytest.mark.parametrize("text", GARBAGE, ids=range(len(GARBAGE)))
async def test_what_is_no_command_is_refused_with_a_code_and_the_socket_lives(text: str) -> None:
    """R1: an error, never a broken socket; its id is there if it could be read."""
    async with server() as house:
        socket = house.socket()
        socket.put(text.encode("utf-8", "replace").decode())
        await socket.until(lambda: len(socket.messages) == 1)
        answer = socket.messages[0]
        assert answer["type"] == "error"
        assert _code(answer) in ("invalid_command", "invalid_json")
        if text.startswith('{"id":"1"') and text.endswith("}") and "}{" not in text:
            assert answer["id"] == "1"
        assert (await socket.command("ping"))["type"] == "pong"
        await socket.leave()


async def test_a_binary_message_is_no_command() -> None:
    """R1: commands are text."""
    async with server() as house:
        socket = house.socket()
        socket.put(b'{"id":"1","type":"ping"}')
        await socket.until(lambda: socket.messages)
        assert _code(socket.messages[0]) == "invalid_json"
        await socket.leave()


async def test_who_talks_only_nonsense_is_sent_away() -> None:
    """R1: 1008 after 20 unreadable commands in a row; a readable one starts the count again."""
    async with server() as house:
        socket = house.socket()
        for _ in range(19):
            socket.put("x")
        await socket.command("ping")
        for _ in range(20):
            socket.put("x")
        await socket.done()
        assert socket.closed == 1008
        assert house.hub.open_streams == 0


async def test_a_command_that_is_too_large_closes_the_socket() -> None:
    """R1: 1009 beyond 1 MiB; a message beyond 256 KiB is refused by itself."""
    async with server() as house:
        session = await house.session()
        socket = house.socket()
        large = await socket.command("message", session_id=session.id, content="x" * 300_000)
        assert _code(large) == "message_too_large"
        socket.put("x" * (1024 * 1024 + 1))
        await socket.done()
        assert socket.closed == 1009


async def test_a_socket_has_a_bounded_number_of_subscriptions() -> None:
    """R1: one more than allowed is refused with a code; those there go on."""
    limits = msgspec.structs.replace(QUICK, subscriptions_per_socket=2)
    async with server(limits=limits) as house:
        sessions = [await house.session() for _ in range(3)]
        socket = house.socket()
        answers = [await socket.command("subscribe", session_id=session.id) for session in sessions]
        assert [answer["type"] for answer in answers] == ["ack", "ack", "error"]
        assert _code(answers[2]) == "too_many_subscriptions"
        assert (await socket.command("subscribe", session_id=sessions[0].id))["type"] == "ack"
        await socket.leave()


async def test_a_subscriber_is_told_that_its_session_was_deleted() -> None:
    """C5: `deleted`, and the subscription is gone; the socket stays."""
    async with server([ScriptedTurn(text="One.")]) as house:
        session = await house.session()
        socket = house.socket()
        await socket.command("subscribe", session_id=session.id)
        await house.gateway.intake.delete_session(house.who, session.id)
        await socket.until(lambda: any(message["type"] == "deleted" for message in socket.messages))
        assert socket.messages[-1]["session_id"] == session.id
        assert _code(await socket.command("subscribe", session_id=session.id)) == "session_not_found"
        assert house.hub.open_streams == 0
        await socket.leave()


async def test_a_revoked_key_commands_nothing_more_on_a_socket_it_opened() -> None:
    """R2: the command is refused, nothing is taken in, and the socket is closed."""
    async with server(TURNS, limits=msgspec.structs.replace(QUICK, recheck_s=3600.0)) as house:
        session = await house.session()
        socket = house.socket()
        assert (await socket.command("ping"))["type"] == "pong"
        (key,) = await house.store.list_api_keys("default", "ann")
        await house.store.revoke_api_key("default", "ann", key.id)
        house.gateway.auth.forget(key.id)
        refused = await socket.command("message", session_id=session.id, content="Still here")
        assert _code(refused) == "unauthenticated"
        await socket.done()
        assert socket.sent[-1]["type"] == "websocket.close"
        assert socket.sent[-1]["code"] == 1008
        assert (await house.store.count_runs()) == {"queued": 0, "running": 0}
        assert (await house.store.list_messages("default", "ann", session.id)).items == []


async def test_a_server_that_stops_closes_with_1012() -> None:
    """R1: service restart: come again a little later."""
    async with server() as house:
        session = await house.session()
        busy, idle = house.socket(), house.socket()
        await busy.command("subscribe", session_id=session.id)
        await idle.command("ping")
        house.hub.close()
        for socket in (busy, idle):
            await socket.done()
            assert socket.closed == 1012


async def test_a_socket_that_stops_reading_holds_up_nobody() -> None:
    """C7: law 10: runs and other sockets go on, and the slow one gets everything later."""
    limits = ServerLimits(reader_window_events=4)
    words = " ".join(str(number) for number in range(100))
    async with server([ScriptedTurn(text=words)], limits=limits) as house:
        session = await house.session()
        slow, quick = house.socket(), house.socket()
        for socket in (slow, quick):
            await socket.command("subscribe", session_id=session.id)
        slow.open.clear()
        lines = await house.ended(session, await house.say(session, "Count"))
        await quick.count(session.id, len(lines))
        assert len(slow.events(session.id)) < len(lines)
        slow.open.set()
        await slow.count(session.id, len(lines))
        assert _bytes(slow, session.id) == _bytes(quick, session.id) == lines
        await slow.leave()
        await quick.leave()


async def test_a_cursor_beyond_the_end_is_refused() -> None:
    """L9: nobody can have seen an event that is not there."""
    async with server() as house:
        session = await house.session()
        socket = house.socket()
        answer = await socket.command("subscribe", session_id=session.id, after=5)
        assert (_code(answer), answer["error"]["details"]) == ("invalid_cursor", {"last_pos": 0})
        await socket.leave()


async def test_a_socket_that_stopped_reading_does_not_hold_up_a_server_that_stops() -> None:
    """R1: what was being sent is given up, and so is the goodbye after a moment."""
    async with server([ScriptedTurn(text="one two three")]) as house:
        session = await house.session()
        socket = house.socket()
        await socket.command("subscribe", session_id=session.id)
        socket.open.clear()
        await house.ended(session, await house.say(session, "Count"))
        await socket.until(lambda: socket.events(session.id))
        house.hub.close()
        await socket.done()
        assert house.hub.open_streams == 0
