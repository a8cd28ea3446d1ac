"""Worker processes: of `agio serve --workers`, and of `agio worker` beside an `agio gateway`."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.held_model import APP, STORY, HeldModel
from tests.support.command import WAIT_S
from tests.support.postgres import PostgresServer
from tests.support.process import Server, frames, send, start_session, stream, text_of

WORKER_KEY = "what-workers-show-to-be-let-in-0123456789"


def children_of(pid: int) -> list[int]:
    """Return the processes a process has started."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def await_end(pid: int) -> None:
    """Wait until a process is gone."""
    end = time.monotonic() + WAIT_S
    while Path(f"/proc/{pid}").exists():
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.02)


def test_two_processes_run_what_is_asked(tmp_path: Path) -> None:
    """R4, R5: the same answers over the link, and the runs are not in the gateway's process."""
    with Server(tmp_path, "--workers", "2") as server, server.client() as client:
        server.await_workers(client, 2)
        assert len(children_of(server.process.pid)) == 2
        sessions = [start_session(client) for _ in range(3)]
        for session in sessions:
            send(client, session, "what is 6 * 7?")
        for session in sessions:
            assert text_of(stream(client, session)).startswith("The tool says: **42**")


def test_a_worker_that_is_killed_begins_again_and_its_run_goes_on(tmp_path: Path) -> None:
    """B1: the client's stream goes on; the turn under way is taken back and done again."""
    (tmp_path / "held.py").write_text(APP)
    arguments = ("--workers", "1", "--app", str(tmp_path / "held.py"))
    with (
        HeldModel() as model,
        Server(tmp_path, *arguments, environment=model.environment) as server,
        server.client() as client,
    ):
        server.await_workers(client, 1)
        (worker,) = children_of(server.process.pid)
        session = start_session(client, "held")
        send(client, session, "a story, please")
        events: list[dict[str, object]] = []
        for _, event in frames(client, session):
            events.append(event)
            if len(events) == 3:
                os.kill(worker, signal.SIGKILL)
                model.let_go()
        assert text_of(events) == STORY
        assert [event.get("name") for event in events].count("agio.rewind") == 1
        assert worker not in children_of(server.process.pid)
        server.expect_error("Worker process 1 ended with code -9")


def test_the_workers_of_a_server_that_is_killed_end_with_it(tmp_path: Path) -> None:
    """B1: nobody is left behind to hold runs of a store that somebody else has."""
    with Server(tmp_path, "--workers", "2") as server:
        with server.client() as client:
            server.await_workers(client, 2)
        workers = children_of(server.process.pid)
        server.process.kill()
        for worker in workers:
            await_end(worker)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_gateway_and_a_worker_of_its_own(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    """R5, S10: a worker has an address and a key, and no database; the gateway has it, of either kind."""
    settings = {"AGIO_WORKER_KEY": WORKER_KEY}
    arguments: list[str] = []
    if kind == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        settings["AGIO_DATABASE_URL"] = postgres.create_database()
        arguments = ["--port", "0"]
    with Server(
        tmp_path, *arguments, command="gateway", environment=settings, own_data=kind == "sqlite"
    ) as gateway:
        with gateway.client() as client:
            session = start_session(client)
            send(client, session, "what is 6 * 7?")
            link = {"AGIO_WORKER_KEY": WORKER_KEY, "AGIO_GATEWAY_URL": gateway.url}
            with Server(tmp_path, command="worker", environment=link, wait=False) as worker:
                assert text_of(stream(client, session)).startswith("The tool says: **42**")
                assert worker.stop() == 0
            assert client.get("/api/ready").status_code == 503
        assert gateway.stop() == 0
    assert "Traceback" not in gateway.errors + worker.errors


def test_a_worker_with_the_wrong_key_is_refused_and_says_so(tmp_path: Path) -> None:
    """R7: the key decides who may run agents."""
    settings = {"AGIO_WORKER_KEY": WORKER_KEY}
    with Server(tmp_path, command="gateway", environment=settings) as gateway:
        link = {"AGIO_WORKER_KEY": WORKER_KEY[::-1], "AGIO_GATEWAY_URL": gateway.url}
        with Server(tmp_path, command="worker", environment=link, wait=False) as worker:
            assert worker.wait() == 1
    assert "[worker_key_refused]" in worker.errors
    assert "Traceback" not in worker.errors
    assert WORKER_KEY not in worker.errors
