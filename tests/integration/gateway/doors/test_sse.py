"""The stream of a session over SSE: any cursor, any cut, two readers, slow ones, and how it ends."""

import asyncio

import msgspec
import pytest

from agio import ScriptedCall, ScriptedTurn
from agio.core.config import ServerLimits
from agio.tools.calculator import calculator
from tests.integration.gateway.streams import Server, server
from tests.support.engine import QUICK, soon

TURNS = [
    ScriptedTurn(text="Let me count.", calls=[ScriptedCall("calculator", {"expression": "6 * 7"})]),
    ScriptedTurn(reasoning="It was easy.", text="It is forty two."),
]


async def _said(house: Server, session_id: str) -> list[bytes]:
    """Return the frames a whole session must have."""
    return [b"id: %d\ndata: %b\n\n" % (pos, line) for pos, line in enumerate(await house.log(session_id), 1)]


async def test_a_reader_sees_a_run_as_it_happens_to_the_byte() -> None:
    """C7, R6: frames are `id: pos`, `data: line`, LF LF; the line is the log's."""
    async with server(TURNS, tools=[calculator]) as house:
        session = await house.session("calculator")
        reading = house.read(session.id)
        run_id = await house.say(session, "Six times seven?")
        lines = await house.ended(session, run_id)
        await reading.count(len(lines))
        assert reading.body == b"".join(await _said(house, session.id))
        assert reading.headers["content-type"] == "text/event-stream"
        assert reading.headers["cache-control"] == "no-cache, no-transform"
        assert reading.headers["x-accel-buffering"] == "no"
        await reading.leave()
        assert house.hub.open_streams == 0


async def test_a_stream_cut_after_every_event_and_resumed_is_the_uncut_one() -> None:
    """C7, L9: `Last-Event-ID` brings the rest, nothing lost and nothing twice, over two runs."""
    async with server([*TURNS, *TURNS], tools=[calculator]) as house:
        session = await house.session("calculator")
        for text in ("Six times seven?", "Again?"):
            lines = await house.ended(session, await house.say(session, text))
        frames = await _said(house, session.id)
        for cut in range(len(lines)):
            for reading in (house.read(session.id, last=cut), house.read(session.id, query=f"after={cut}")):
                await reading.count(len(lines) - cut)
                assert reading.body == b"".join(frames[cut:])
                await reading.leave()
        quiet = house.read(session.id, last=len(lines))
        await quiet.until(lambda: quiet.status)
        assert quiet.body == b""
        await quiet.leave()


async def test_a_stream_cut_while_the_run_goes_on_is_resumed_where_it_was_cut() -> None:
    """C7, B1: readers that come and go during a run each get their part, and all parts are the whole."""
    hold = asyncio.Event()
    turns = [ScriptedTurn(text="one two three four five", waits=hold)]
    async with server(turns) as house:
        session = await house.session()
        run_id = await house.say(session, "Count")
        seen: list[bytes] = []
        for count in (2, 3, 2):
            reading = house.read(session.id, last=len(seen))
            await reading.count(count)
            seen += [b"id: %d\ndata: %b\n\n" % (pos or 0, line) for pos, line in reading.frames[:count]]
            await reading.leave()
        hold.set()
        lines = await house.ended(session, run_id)
        reading = house.read(session.id, last=len(seen))
        await reading.count(len(lines) - len(seen))
        assert b"".join(seen) + reading.body == b"".join(await _said(house, session.id))
        await reading.leave()


async def test_without_a_cursor_a_stream_begins_with_the_newest_run() -> None:
    """C7: an earlier run is not sent again to who did not ask for it; 0 asks for everything."""
    async with server([ScriptedTurn(text="One."), ScriptedTurn(text="Two.")]) as house:
        session = await house.session()
        first = await house.ended(session, await house.say(session, "Hi"))
        both = await house.ended(session, await house.say(session, "Hi"))
        reading, whole = house.read(session.id), house.read(session.id, last=0)
        await reading.count(len(both) - len(first))
        await whole.count(len(both))
        assert (reading.lines, whole.lines) == (both[len(first) :], both)
        assert reading.frames[0][0] == len(first) + 1
        await reading.leave()
        await whole.leave()


@pytest.mark.parametrize(
    ("last", "query"),
    [("x", ""), ("-1", ""), ("1.5", ""), ("٣", ""), ("9" * 40, ""), ("4", ""), (None, "after=x")],
)
async def test_a_cursor_that_cannot_be_is_refused(last: str | None, query: str) -> None:
    """C7: 400 `invalid_cursor`, also for a position beyond the last event."""
    async with server() as house:
        session = await house.session()
        reading = house.read(session.id, last=last, query=query)
        await reading.done()
        assert (reading.status, reading.error) == (400, "invalid_cursor")


async def test_the_header_goes_before_the_query() -> None:
    """C7: an EventSource asks again with its first URL and a Last-Event-ID."""
    async with server([ScriptedTurn(text="One.")]) as house:
        session = await house.session()
        lines = await house.ended(session, await house.say(session, "Hi"))
        reading = house.read(session.id, last=2, query="after=0")
        await reading.count(len(lines) - 2)
        assert reading.lines == lines[2:]
        await reading.leave()


async def test_a_session_of_somebody_else_is_not_there() -> None:
    """C7, R2: 404 for a stranger's session, 401 without a credential."""
    async with server() as house:
        session = await house.session()
        strange, nobody = house.read(session.id, key="bob"), house.read(session.id, key="")
        await strange.done()
        await nobody.done()
        assert (strange.status, strange.error) == (404, "session_not_found")
        assert (nobody.status, nobody.error) == (401, "unauthenticated")


async def test_a_silent_stream_is_kept_alive_by_comments() -> None:
    """C7: `: keep-alive` while nothing happens, and events as before after it."""
    limits = msgspec.structs.replace(QUICK, keep_alive_s=0.01)
    async with server([ScriptedTurn(text="Hi.")], limits=limits) as house:
        session = await house.session()
        reading = house.read(session.id)
        await reading.until(lambda: reading.body.count(b": keep-alive\n\n") > 2)
        lines = await house.ended(session, await house.say(session, "Hi"))
        await reading.count(len(lines))
        assert reading.lines == lines
        await reading.leave()


async def test_a_stream_ends_when_its_session_is_deleted() -> None:
    """C5: the response is complete, and nobody is left reading."""
    async with server() as house:
        session = await house.session()
        readings = [house.read(session.id), house.read(session.id)]
        for reading in readings:
            await reading.until(lambda reading=reading: reading.status)
        await house.gateway.intake.delete_session(house.who, session.id)
        for reading in readings:
            await reading.done()
            assert reading.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
        assert house.hub.open_streams == 0


async def test_a_stream_ends_when_the_server_stops() -> None:
    """C7: readers are let go at once, and may ask again elsewhere."""
    async with server() as house:
        session = await house.session()
        reading = house.read(session.id)
        await reading.until(lambda: reading.status)
        house.hub.close()
        await reading.done()
        assert reading.sent[-1]["more_body"] is False


async def test_a_reader_that_stops_reading_holds_up_nobody() -> None:
    """C7: law 10: the run and the other reader go on, and the slow one gets everything later."""
    limits = ServerLimits(reader_window_events=4)
    words = " ".join(str(number) for number in range(100))
    async with server([ScriptedTurn(text=words)], limits=limits) as house:
        session = await house.session()
        slow, quick = house.read(session.id), house.read(session.id)
        slow.open.clear()
        lines = await house.ended(session, await house.say(session, "Count"))
        await quick.count(len(lines))
        assert len(slow.frames) < len(lines)
        slow.open.set()
        await slow.count(len(lines))
        assert slow.lines == quick.lines == lines
        await slow.leave()
        await quick.leave()


async def test_several_events_go_in_one_send() -> None:
    """C7: a reader that asks for a finished run gets it in a few writes, not one an event."""
    words = " ".join(str(number) for number in range(200))
    async with server([ScriptedTurn(text=words)]) as house:
        session = await house.session()
        lines = await house.ended(session, await house.say(session, "Count"))
        reading = house.read(session.id)
        await reading.count(len(lines))
        assert len(reading.sent) < 6
        await reading.leave()


async def test_a_stream_whose_reader_stopped_reading_can_be_cancelled() -> None:
    """C7: a server that stops does not wait for who will never read."""
    async with server([ScriptedTurn(text="one two three")]) as house:
        session = await house.session()
        reading = house.read(session.id)
        await reading.until(lambda: reading.status)
        reading.open.clear()
        await house.ended(session, await house.say(session, "Count"))
        await reading.until(lambda: reading.frames)
        house.hub.close()
        reading.task.cancel()
        await soon(asyncio.wait((reading.task,)))
        assert reading.task.cancelled()
        assert house.hub.open_streams == 0
