"""Every bus carries events to those who watch their session, and signals to all; losing it loses nothing else."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from agio.bus import nats as nats_bus
from agio.bus.bus import INLINE_BYTES, Bus
from agio.bus.memory import MemoryBus
from agio.bus.nats import NatsBus, open_nats
from agio.bus.options import NatsOptions
from agio.bus.sealing import Sealing
from agio.bus.signals import Cancelled, Queued, Revoked, Signal
from agio.core.store.records import EventSlice
from agio.errors import BusError
from tests.support.clock import until
from tests.support.engine import soon
from tests.support.nats import NatsServer

SECRET = b"the secret of a store"


class Ear:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[tuple[str, EventSlice]] = []
        self.signals: list[Signal] = []
        self.lost: list[str | None] = []

    def heard_events(self, session_id: str, events: EventSlice) -> None:
        self.events.append((session_id, events))

    def heard(self, signal: Signal) -> None:
        self.signals.append(signal)

    def missed(self, session_id: str | None) -> None:
        self.lost.append(session_id)


class Ends:
    """Two gateways' ends of a bus."""

    def __init__(self, one: Bus, two: Bus) -> None:
        self.one, self.two = one, two
        self.ear_one, self.ear_two = Ear(), Ear()
        one.listen(self.ear_one)
        two.listen(self.ear_two)

    async def heard(self, found: Callable[[], bool]) -> None:
        await soon(until(found))


@asynccontextmanager
async def nats_ends(server: NatsServer) -> AsyncGenerator[Ends]:
    options = NatsOptions(servers=[server.url])
    one, two = await open_nats(options, SECRET), await open_nats(options, SECRET)
    yield Ends(one, two)
    await one.close()
    await two.close()


@pytest.fixture
async def ends(request: pytest.FixtureRequest) -> AsyncGenerator[Ends]:
    if request.param == "memory":
        one = MemoryBus()
        yield Ends(one, one.other())
        return
    with NatsServer() as server:
        async with nats_ends(server) as made:
            yield made


every_bus = pytest.mark.parametrize("ends", ["memory", "nats"], indirect=True)


def events(pos: int, payload: bytes = b"{}\n") -> EventSlice:
    return EventSlice("run_1", pos, payload.count(b"\n"), payload)


async def watching(ends: Ends, session_id: str) -> None:
    """Watch a session with the second end, and wait until nothing more is lost."""
    ends.two.watch(session_id)
    if isinstance(ends.two, NatsBus):
        await ends.heard(lambda: session_id in ends.ear_two.lost)


@every_bus
async def test_events_reach_those_who_watch_their_session(ends: Ends) -> None:
    """S10: in order, to the others and not back; ids of sessions may be anything."""
    await watching(ends, "thr 1.*.>")
    for pos in range(1, 101):
        ends.one.publish("thr 1.*.>", events(pos))
        ends.one.publish("another", events(pos))
    await ends.heard(lambda: len(ends.ear_two.events) == 100)
    assert ends.ear_two.events == [("thr 1.*.>", events(pos)) for pos in range(1, 101)]
    assert ends.ear_one.events == []
    ends.two.unwatch("thr 1.*.>")
    ends.two.send(Queued())  # what comes after it, comes after the end of the subscription
    await ends.heard(lambda: ends.ear_one.signals == [Queued()])
    ends.one.publish("thr 1.*.>", events(101))
    ends.one.send(Cancelled("run_1"))
    await ends.heard(lambda: ends.ear_two.signals == [Cancelled("run_1")])
    assert len(ends.ear_two.events) == 100


@every_bus
async def test_large_events_travel_as_a_pointer(ends: Ends) -> None:
    """S10: up to 512 KiB inline; above it the reader looks at the store."""
    await watching(ends, "s")
    ends.ear_two.lost.clear()
    whole = b"x" * (INLINE_BYTES - 1) + b"\n"
    ends.one.publish("s", events(1, whole))
    ends.one.publish("s", events(2, b"y" + whole))
    await ends.heard(lambda: ends.ear_two.lost == ["s"])
    assert ends.ear_two.events == [("s", events(1, whole))]


async def test_a_gateway_subscribes_to_the_sessions_it_has_readers_for() -> None:
    """S10: and to the signals; to nothing else."""
    with NatsServer() as server:
        async with nats_ends(server) as ends:
            sealing = Sealing(SECRET)
            await watching(ends, "a")
            await watching(ends, "b")
            ends.two.unwatch("a")
            wanted = sorted([sealing.signals, sealing.signals, sealing.subject("b")])
            await ends.heard(lambda: sorted(server.subjects()) == wanted)


async def test_a_bus_that_went_away_comes_back_empty_and_is_joined_again() -> None:
    """B1: sending goes on meanwhile, to nobody; then everybody looks at the store, and hears again."""
    with NatsServer() as server:
        async with nats_ends(server) as ends:
            await watching(ends, "s")
            server.kill()
            await ends.heard(lambda: not ends.one.connected and not ends.two.connected)
            for pos in range(1, 1000):
                ends.one.publish("s", events(pos))
                ends.one.send(Queued())
            ends.two.watch("begun meanwhile")
            server.start()
            await ends.heard(lambda: ends.ear_one.lost == [None] and "begun meanwhile" in ends.ear_two.lost)
            await ends.heard(lambda: ends.ear_two.lost.count("s") == 2)
            assert None in ends.ear_two.lost
            ends.one.publish("s", events(1000))
            await ends.heard(lambda: ends.ear_two.events == [("s", events(1000))])


async def test_forged_and_cut_messages_are_ignored_and_counted() -> None:
    """S10, S14: who reaches the bus but not the store shows no reader anything, and stops no run."""
    with NatsServer() as server:
        async with nats_ends(server) as ends:
            await watching(ends, "s")
            ours, theirs = Sealing(SECRET), Sealing(b"another store's")
            subject = ours.subject("s")
            good = ours.seal_events(subject, "s", events(1), INLINE_BYTES)
            signal = ours.seal_signal(Revoked(credential="key_1"))
            client = cast("Any", ends.one)._client
            forged = [
                (subject, theirs.seal_events(subject, "s", events(1), INLINE_BYTES)),
                (subject, good[:-1]),
                (subject, good[:7]),
                (subject, b""),
                (subject, signal),
                (subject, ours.seal_events(ours.subject("t"), "t", events(1), INLINE_BYTES)),
                (ours.signals, theirs.seal_signal(Queued())),
                (ours.signals, signal[:-1]),
                (ours.signals, good),
            ]
            for place, message in forged:
                await client.publish(place, message)
            await ends.heard(lambda: ends.two.ignored == len(forged))
            assert ends.ear_two.events == []
            assert ends.ear_two.signals == []
            await client.publish(subject, good)
            await ends.heard(lambda: ends.ear_two.events == [("s", events(1))])


async def test_a_bus_that_cannot_be_used_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """R3: unreachable, wrong credentials, too old: each with its own code, and without the password."""

    async def refusal(url: str) -> str:
        with pytest.raises(BusError) as refused:
            await soon(open_nats(NatsOptions(servers=[url]), SECRET))
        assert "s3cret" not in str(refused.value)
        return refused.value.code

    with NatsServer("--user", "u", "--pass", "right") as server:
        place = server.url.removeprefix("nats://")
        assert await refusal(f"nats://u:s3cret@{place}") == "bus_refused"
        assert await refusal(server.url) == "bus_refused"
        admitted = await open_nats(NatsOptions(servers=[f"nats://u:right@{place}"]), SECRET)
        await admitted.close()
        monkeypatch.setattr(nats_bus, "OLDEST", (99, 0))
        assert await refusal(f"nats://u:right@{place}") == "bus_too_old"
    assert await refusal(f"nats://u:s3cret@{place}") == "bus_unavailable"


async def test_a_slow_bus_does_not_fill_the_memory() -> None:
    """S10: what cannot be sent is lost, and sending never waits."""
    with NatsServer() as server:
        async with nats_ends(server) as ends:
            for pos in range(1, 50_001):
                ends.one.publish("s", events(pos))
            assert len(cast("Any", ends.one)._outgoing) == 10_000
            await asyncio.sleep(0)
