"""The link over a WebSocket: it breaks and comes back, and strangers get nowhere."""

import asyncio
import http.client
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from agio.core.config import ServerLimits
from agio.core.link import wire
from agio.core.link.link import Greeting, Link, Welcome
from agio.core.store.records import SessionRecord
from agio.errors import StoreError, UserError
from agio.gateway.workers import remote_worker
from agio.gateway.workers.connected_worker import OPERATOR
from agio.protocol.events import seq_of
from agio.worker.link_socket import SocketLink
from tests.support.engine import Engine, Hand, engine, soon
from tests.support.wiring import KEY, Visitor, cabled, served_link, visiting

PATIENT = ServerLimits(link_grace_s=60.0, tick_s=0.05, sweep_s=0.05)


@pytest.fixture
async def patient() -> AsyncIterator[Engine]:
    """A gateway that gives a worker time to come back."""
    async with engine(PATIENT) as made:
        yield made


async def test_an_append_under_way_when_the_link_breaks_is_made_again(patient: Engine) -> None:
    """B1: stored but not answered, then cut: the worker comes back with its claim, and nothing is lost or twice."""
    async with served_link(patient) as far, cabled(far) as (url, cable), visiting(url) as join:
        visitor = Visitor()
        hand, session = await _playing(patient, await join(visitor), visitor)
        await hand.say("One")
        visitor.claims = [hand.claim]
        cable.deaf = True
        waiting = asyncio.create_task(hand.say(" two"))
        await soon(cable.swallowed.wait())
        cable.cut()
        cable.deaf = False
        await soon(waiting)
        await hand.finish()
        assert (await patient.ended(session, hand.run_id)).status == "completed"
        assert (await _welcomes(visitor, 2)).claims == [hand.run_id]
        events = await patient.store.get_events(hand.run_id)
        assert list(map(seq_of, events)) == list(range(1, len(events) + 1))
        assert patient.pool.workers.keys() == {(OPERATOR, "wrk_1")}


async def test_a_call_made_while_the_link_is_down_waits_for_it(patient: Engine) -> None:
    """B1: a run goes on by itself once its worker is back."""
    async with served_link(patient) as far, cabled(far) as (url, cable), visiting(url) as join:
        visitor = Visitor()
        hand, session = await _playing(patient, await join(visitor), visitor)
        visitor.claims = [hand.claim]
        cable.broken = True
        cable.cut()
        waiting = asyncio.create_task(hand.finish())
        await asyncio.sleep(0)
        cable.broken = False
        await soon(waiting)
        assert (await patient.ended(session, hand.run_id)).status == "completed"


async def test_a_worker_that_comes_back_too_late_loses_its_runs(room: Engine) -> None:
    """B1: after its grace a worker's runs go to others, and what it still asks for them is refused."""
    async with served_link(room) as far, cabled(far) as (url, cable), visiting(url) as join:
        late = Visitor("late")
        hand, session = await _playing(room, await join(late), late)
        late.claims = [hand.claim]
        cable.broken = True
        cable.cut()
        async with visiting(far) as join_too:
            other = Visitor("other")
            link = await join_too(other)
            heir = Hand(link, await other.next_job())
            assert heir.claim.epoch == hand.claim.epoch + 1
            waiting = asyncio.create_task(hand.say("mine!"))
            cable.broken = False
            with pytest.raises(StoreError) as refused:
                await soon(waiting)
            assert refused.value.code == "stale_epoch"
            assert (await _welcomes(late, 2)).claims == []
            await heir.finish()
            assert (await room.ended(session, hand.run_id)).status == "completed"


async def test_a_link_that_is_closed_fails_what_still_waits(patient: Engine) -> None:
    """L13: nothing waits for a link that is closed for good."""
    async with served_link(patient) as far, cabled(far) as (url, cable), visiting(url) as join:
        visitor = Visitor()
        link = await join(visitor)
        hand, _ = await _playing(patient, link, visitor)
        cable.broken = True
        cable.cut()
        waiting = asyncio.create_task(hand.say("hello?"))
        await asyncio.sleep(0)
        assert isinstance(link, SocketLink)
        await link.close()
        with pytest.raises(StoreError) as lost:
            await soon(waiting)
        assert lost.value.code == "link_lost"
        with pytest.raises(StoreError):
            await soon(link.release(hand.claim))


@pytest.mark.parametrize("theirs", ["another key", None])
async def test_a_worker_without_the_right_key_is_refused(room: Engine, theirs: str | None) -> None:
    """R4: the internal channel is open to workers that have the key, and to nobody if there is none."""
    async with served_link(room, theirs) as url:
        with pytest.raises(UserError) as refused:
            await soon(SocketLink(url, KEY, Visitor()).run())
        assert refused.value.code == "worker_key_refused"
        assert await _beat(url, KEY, "wrk_1") == 401


GREETING = wire.encode_frame(wire.Greet(1, Greeting(worker="odd", room=1)))
LEAVING = wire.encode_frame(wire.Leave(2))
[GREET] = wire.messages_of([GREETING])
[TWICE] = wire.messages_of([GREETING, GREETING])
[RUDE] = wire.messages_of([LEAVING])


@pytest.mark.parametrize(
    "sent", [b"garbage", b"", b"\x90", TWICE, RUDE, "text", GREET[:-3], b"\xdd\xff\xff\xff\xff"]
)
async def test_garbage_ends_the_connection_and_nothing_else(room: Engine, sent: bytes | str) -> None:
    """R4: what is no message of the link is answered by closing; others do not notice."""
    async with served_link(room) as url, visiting(url) as join:
        visitor = Visitor()
        link = await join(visitor)
        async with _raw(url) as odd:
            await odd.send(sent)
            assert await _closed(odd) == wire.GARBAGE
        await soon(link.leave())


async def test_a_message_that_is_too_large_ends_the_connection(room: Engine) -> None:
    """R4: what a worker may send at once is limited."""
    async with served_link(room) as url, visiting(url) as join:
        link = await join(Visitor())
        async with _raw(url) as odd:
            with suppress(ConnectionClosed):
                await soon(odd.send(bytes(wire.MAX_UP_BYTES + 1)))
            assert await _closed(odd) in (1006, 1009)
        await soon(link.leave())


async def test_a_worker_that_does_not_greet_is_not_waited_for(
    room: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4: a connection that says nothing is closed."""
    monkeypatch.setattr(remote_worker, "_GREET_S", 0.05)
    async with served_link(room) as url, _raw(url) as odd:
        assert await _closed(odd) == wire.SLOW


async def test_a_worker_that_does_not_read_is_let_go(
    patient: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4: a worker that takes nothing costs a bounded amount of memory."""
    monkeypatch.setattr(remote_worker, "_QUEUE_BYTES", 100_000)
    monkeypatch.setattr(remote_worker, "_CLOSE_S", 0.1)
    async with served_link(patient) as url, _raw(url) as odd:
        await odd.send(GREET)
        await soon(odd.recv())
        odd.transport.pause_reading()
        worker = patient.pool.workers[OPERATOR, "odd"]
        async with asyncio.timeout(60):
            while worker.connection is not None:
                worker.connection.drop("run_" + "x" * 50_000, 1)
                await asyncio.sleep(0)
        odd.transport.abort()


async def test_a_heartbeat_keeps_a_worker_and_tells_one_that_is_unknown(room: Engine) -> None:
    """B1: a worker that was given up hears so, and comes again."""
    async with served_link(room) as url, visiting(url) as join:
        visitor = Visitor()
        await join(visitor)
        assert await _beat(url, KEY, "wrk_1") == 200
        assert await _beat(url, KEY, "nobody") == 410
        assert await _beat(url, KEY, "x" * 1000) == 410
        assert await _beat(url, "wrong", "wrk_1") == 401


async def test_a_worker_that_was_given_up_comes_again(room: Engine) -> None:
    """B1: a worker whose place is gone while its connection stands greets anew."""
    quick = ServerLimits(heartbeat_s=0.02, worker_silence_s=60.0, tick_s=0.05)
    async with engine(quick) as forgetful, served_link(forgetful) as url, visiting(url) as join:
        visitor = Visitor()
        await join(visitor)
        await _welcomes(visitor, 1)
        del forgetful.pool.workers[OPERATOR, "wrk_1"]
        await _welcomes(visitor, 1)
        assert (OPERATOR, "wrk_1") in forgetful.pool.workers


async def test_a_worker_lets_go_of_its_runs_when_the_gateway_is_silent() -> None:
    """B1: a worker that hears nothing stops its runs itself, before others begin them."""
    quick = ServerLimits(heartbeat_s=0.02, worker_silence_s=0.2, tick_s=0.05)
    async with (
        engine(quick) as room,
        served_link(room) as far,
        cabled(far) as (url, cable),
        visiting(url) as join,
    ):
        visitor = Visitor()
        await join(visitor)
        cable.broken = True
        cable.cut()
        await soon(visitor.deserted.wait())
        cable.broken = False


async def _playing(room: Engine, link: Link, visitor: Visitor) -> tuple[Hand, SessionRecord]:
    session = await room.session()
    await room.say(session)
    return Hand(link, await visitor.next_job()), session


async def _welcomes(visitor: Visitor, count: int) -> Welcome:
    """Return the last of so many welcomes."""
    return [await soon(visitor.welcomes.get()) for _ in range(count)][-1]


def _raw(url: str) -> connect:
    headers = {"Authorization": f"Bearer {KEY}"}
    return connect(
        f"{url.replace('http', 'ws', 1)}/link", additional_headers=headers, proxy=None, open_timeout=60
    )


async def _closed(connection: ClientConnection) -> int | None:
    """Wait until the gateway closes a connection, and return its code."""
    await soon(connection.wait_closed())
    return connection.close_code


async def _beat(url: str, key: str, worker: str) -> int:
    def post() -> int:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        connection.request("POST", "/link/heartbeat", worker, {"Authorization": f"Bearer {key}"})
        status = connection.getresponse().status
        connection.close()
        return status

    return await asyncio.to_thread(post)
