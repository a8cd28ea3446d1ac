"""Each machine of a cluster may die: a gateway, a worker, the bus, the database. Clients see one whole stream."""

import json
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx

from tests.acceptance.cluster.conftest import Cluster, opened
from tests.acceptance.held_model import STORY
from tests.support.nats import NatsServer
from tests.support.postgres import PostgresServer
from tests.support.process import (
    Server,
    answer_of,
    await_events,
    frames,
    send,
    start_session,
    stream,
    text_of,
)


def read_until_end(
    cluster: Cluster, server: Server, session: str, after_third: Callable[[], None]
) -> list[tuple[int, dict[str, object]]]:
    """Read a session's stream at one gateway; do something after the third event."""
    found: list[tuple[int, dict[str, object]]] = []
    with server.client() as client:
        for frame in frames(client, session):
            found.append(frame)
            if len(found) == 3:
                after_third()
                cluster.model.let_go()
    return found


def check_story(found: list[tuple[int, dict[str, object]]], *, rewinds: int) -> None:
    """The stream has every position once, and the whole story."""
    assert [pos for pos, _ in found] == list(range(found[0][0], found[0][0] + len(found)))
    events = [event for _, event in found]
    assert text_of(events) == STORY
    assert [event.get("name") for event in events].count("agio.rewind") == rewinds


def test_a_gateway_that_is_killed_is_replaced_in_mid_run(cluster: Cluster) -> None:
    """B1, S10: its worker goes to the other with its claim, its client resumes there; nothing is done again."""
    first, second = cluster.gateway(), cluster.gateway()
    worker = cluster.worker(first, second)
    with first.client() as client, second.client() as other:
        first.await_workers(client, 1)
        second.await_workers(other, 1)  # what users see of the workers is the same at both
        session = start_session(client, "held")
        run = send(client, session, "a story, please")
        seen = 0
        with suppress(httpx.TransportError):
            for seen, _ in frames(client, session):
                if seen == 3:
                    first.process.kill()
        first.process.wait()
        cluster.model.let_go()
        found = list(frames(other, session, after=seen))
        assert [pos for pos, _ in found] == list(range(seen + 1, seen + 1 + len(found)))
        check_story(list(frames(other, session, after=0)), rewinds=0)
        assert answer_of(other.get(f"/api/runs/{run}"))["status"] == "completed"
        send(other, session, "and now?")
        assert text_of(stream(other, session, found[-1][0])) == "You said: and now?"
    assert second.stop() == 0
    assert "Traceback" not in second.errors + worker.errors


def test_a_worker_that_is_killed_is_replaced_by_one_of_another_gateway(cluster: Cluster) -> None:
    """B1, S10: the run is taken over where there is room, and the open turn is done again; the reader is elsewhere."""
    first, second = cluster.gateway(), cluster.gateway()
    doomed = cluster.worker(first)
    with first.client() as client:
        first.await_workers(client, 1)
        session = start_session(client, "held")
        send(client, session, "a story, please")
        await_events(client, 3)
        cluster.worker(second)
        first.await_workers(client, 2)
        found = read_until_end(cluster, second, session, doomed.process.kill)
    check_story(found, rewinds=1)


def test_a_worker_that_is_stopped_hands_its_run_on(cluster: Cluster) -> None:
    """R4: what a drained worker gives back, another continues within 2 s."""
    limits = json.dumps({"drain_s": 1})
    first, second = cluster.gateway(), cluster.gateway()
    leaving = cluster.worker(first, AGIO_LIMITS=limits)
    with first.client() as client:
        first.await_workers(client, 1)
        session = start_session(client, "held")
        send(client, session, "a story, please")
        await_events(client, 3)
        cluster.worker(second)
        first.await_workers(client, 2)
        given_back: list[float] = []

        def stop() -> None:
            assert leaving.stop() == 0
            given_back.append(time.monotonic())

        found = read_until_end(cluster, second, session, stop)
        assert time.monotonic() - given_back[0] < 2
    check_story(found, rewinds=1)


def test_a_bus_that_is_killed_costs_time_alone(cluster: Cluster, nats: NatsServer) -> None:
    """B1: readers, queue and cancels of other gateways go on through the store; the bus is joined again."""
    first, second = cluster.gateway(), cluster.gateway()
    cluster.worker(first)
    with second.client() as other:
        second.await_workers(other, 1)
        session = start_session(other, "held")
        send(other, session, "a story, please")
        found = read_until_end(cluster, second, session, nats.kill)
        check_story(found, rewinds=0)
        quiet = start_session(other, "held")
        send(other, quiet, "without a bus")  # the gateway that takes it has no worker
        heard = list(frames(other, quiet))
        assert text_of([event for _, event in heard]) == "You said: without a bus"
        nats.start()
        second.expect_error("can be reached again")
        first.expect_error("can be reached again")
        send(other, quiet, "with a bus")
        assert text_of(stream(other, quiet, heard[-1][0])) == "You said: with a bus"


def test_a_cancel_at_one_gateway_ends_the_run_of_another(cluster: Cluster) -> None:
    """R6: at once, whichever gateway is asked."""
    first, second = cluster.gateway(), cluster.gateway()
    cluster.worker(first)
    with first.client() as client, second.client() as other:
        second.await_workers(other, 1)
        session = start_session(other, "held")
        run = send(client, session, "a story, please")
        await_events(client, 3)
        began = time.monotonic()
        assert other.post(f"/api/runs/{run}/cancel").is_success
        assert stream(other, session)[-1]["outcome"] == {"type": "cancelled"}
        assert time.monotonic() - began < 2


def test_a_database_that_restarts_is_waited_for(tmp_path: Path, nats: NatsServer) -> None:
    """B1: a client is refused with a clear code meanwhile; the run goes on, and nothing is lost or twice."""
    postgres = PostgresServer(durable=True)
    try:
        with opened(tmp_path, postgres, nats) as cluster:
            first, second = cluster.gateway(), cluster.gateway()
            cluster.worker(first, second)
            with first.client() as client, second.client() as other:
                first.await_workers(client, 1)
                session = start_session(client, "held")
                send(client, session, "a story, please")

                def restart() -> None:
                    postgres.crash()
                    began = time.monotonic()
                    refused = other.get("/api/agents")
                    assert refused.json()["error"]["code"] == "store_unavailable"
                    assert time.monotonic() - began < 2  # it says so within 1 s
                    postgres.start()

                found = read_until_end(cluster, second, session, restart)
                check_story(found, rewinds=0)
    finally:
        postgres.close()


def test_many_clients_at_two_gateways_see_the_same(cluster: Cluster) -> None:
    """S10: workers at both, clients at both, each session read where it was not written."""
    first, second = cluster.gateway(), cluster.gateway()
    cluster.worker(first)
    cluster.worker(second)
    with first.client() as client, second.client() as other:
        first.await_workers(client, 2)
        second.await_workers(other, 2)
        sessions = [start_session(client, "held") for _ in range(12)]
        lock = threading.Lock()

        def talk(number: int) -> str:
            write, read = (client, other) if number % 2 else (other, client)
            with lock:
                send(write, sessions[number], f"word {number}")
            return text_of(stream(read, sessions[number]))

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(talk, range(12))) == [f"You said: word {number}" for number in range(12)]


def test_a_gateway_that_is_stopped_gives_its_runs_to_the_others(cluster: Cluster) -> None:
    """R4: its worker finds the other gateway, and its run goes on; the stopped one's code is 0."""
    limits = json.dumps({"drain_s": 1})
    first, second = cluster.gateway(AGIO_LIMITS=limits), cluster.gateway(AGIO_LIMITS=limits)
    cluster.worker(first, second)
    with first.client() as client:
        first.await_workers(client, 1)
        session = start_session(client, "held")
        send(client, session, "a story, please")
        await_events(client, 3)
        found = read_until_end(cluster, second, session, lambda: assert_stopped(first))
    check_story(found, rewinds=1)


def assert_stopped(server: Server) -> None:
    assert server.stop(signal.SIGTERM) == 0, server.errors
