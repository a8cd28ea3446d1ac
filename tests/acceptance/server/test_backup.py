"""Copies of a store: made while a real server writes it, and put back."""

import asyncio
import json
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from agio.db.repository import open_store
from tests.acceptance.checker import Run, check_positions, check_run, read_runs
from tests.support.command import WAIT_S, Cli
from tests.support.process import PAUSE_S, Server, answer_of, send, start_session, stream

LIMITS = json.dumps({"running_per_user": 10})
TALKERS = 4
COPIES = 5


def agio(
    folder: Path, *arguments: str, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    cli = Cli(folder)
    del cli.environment["AGIO_DATA"]
    cli.environment.update(environment or {})
    return cli.run(*arguments)


class Talkers:
    """People who talk without a pause, each in a session of their own, until they are told to stop."""

    def __init__(self, server: Server) -> None:
        self.accepted: list[str] = []
        self.failures: list[BaseException] = []
        self._over = threading.Event()
        self._server = server
        self._threads = [threading.Thread(target=self._talk) for _ in range(TALKERS)]
        for thread in self._threads:
            thread.start()

    def _talk(self) -> None:
        try:
            with self._server.client() as client:
                session = start_session(client)
                while not self._over.is_set():
                    self.accepted.append(send(client, session, "what is 6 * 7?"))
                    stream(client, session)
        except (httpx.HTTPError, AssertionError) as error:
            self.failures.append(error)

    def await_more(self, count: int) -> None:
        """Wait until so many more messages were accepted."""
        goal, end = len(self.accepted) + count, time.monotonic() + WAIT_S
        while len(self.accepted) < goal and not self.failures:
            assert time.monotonic() < end
            self._over.wait(0.01)

    def stop(self) -> None:
        """Let them finish what they say."""
        self._over.set()
        for thread in self._threads:
            thread.join(WAIT_S)
        assert self.failures == []


async def log_problems(file: Path, expected: Sequence[str]) -> list[str]:
    """Open a store and return what is wrong: a run that is missing, an event that is missing or twice."""
    store = await open_store(file)
    problems: list[str] = []
    try:
        runs = await store.list_runs(limit=10_000)
        known = {info.run_id for info in runs}
        problems += [f"{run_id} is missing" for run_id in expected if run_id not in known]
        for info in runs:
            log = await store.get_log(info.run_id)
            numbers = [json.loads(line)["metadata"]["seq"] for line in log.payload.splitlines()]
            if numbers != list(range(1, log.info.last_seq + 1)):
                problems.append(f"{info.run_id} ({info.status}) has {numbers}, up to {log.info.last_seq}")
    finally:
        await store.close()
    return problems


def finished_problems(file: Path) -> list[str]:
    """Return what is wrong with a store nobody has open, and in which every run has ended."""
    runs = read_runs(file)
    by_session: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_session[run.session_id].append(run)
    problems = [found for run in runs for found in check_run(run)]
    return problems + [
        found for session, each in by_session.items() for found in check_positions(session, each)
    ]


def await_rest(client: httpx.Client) -> None:
    """Wait until no run is queued or running."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        states = [
            answer_of(client.get("/api/runs", params={"status": status}))["items"]
            for status in ("queued", "running")
        ]
        if states == [[], []]:
            return
        time.sleep(PAUSE_S)
    raise TimeoutError("something is still running")


@pytest.mark.timeout(300)
def test_copies_made_under_load_are_whole_and_nothing_is_lost(tmp_path: Path) -> None:
    """B1, S13: five copies of a store that is being written; each opens, with every message accepted before it."""
    promised: list[list[str]] = []
    with Server(tmp_path, environment={"AGIO_LIMITS": LIMITS}) as server:
        talkers = Talkers(server)
        try:
            for number in range(COPIES):
                talkers.await_more(3)
                promised.append(list(talkers.accepted))
                done = agio(tmp_path, "backup", str(tmp_path / f"copy-{number}"), "--data", str(server.data))
                assert done.returncode == 0, done.stderr
        finally:
            talkers.stop()
        with server.client() as client:
            await_rest(client)
        assert server.stop() == 0
    assert finished_problems(server.data / "agio.db") == []
    assert {run.run_id for run in read_runs(server.data / "agio.db")} >= set(talkers.accepted)
    for number, expected in enumerate(promised):
        home = tmp_path / f"home-{number}"
        done = agio(tmp_path, "restore", str(tmp_path / f"copy-{number}"), "--data", str(home / "data"))
        assert done.returncode == 0, done.stderr
        assert asyncio.run(log_problems(home / "data" / "agio.db", expected)) == []
    home = tmp_path / f"home-{COPIES - 1}"
    with Server(home) as again, again.client() as client:
        await_rest(client)
        assert again.stop() == 0
    assert finished_problems(home / "data" / "agio.db") == []


def test_a_copy_is_private_whole_and_never_replaces_by_accident(tmp_path: Path) -> None:
    """S13: mode 0600, a second copy to the same name is refused, and the key is named as missing from it."""
    with Server(tmp_path) as server, server.client() as client:
        send(client, start_session(client), "hello")
        copy = tmp_path / "copy.db"
        first = agio(tmp_path, "backup", str(copy), "--data", str(server.data))
        assert first.returncode == 0, first.stderr
        assert copy.stat().st_mode & 0o777 == 0o600
        assert str(server.data / "secret.key") in first.stdout
        before = copy.read_bytes()
        second = agio(tmp_path, "backup", str(copy), "--data", str(server.data))
        assert (second.returncode, copy.read_bytes()) == (1, before)
        assert "[file_exists]" in second.stderr
        assert agio(tmp_path, "backup", str(copy), "--data", str(server.data), "--force").returncode == 0
        taken = agio(tmp_path, "restore", str(copy), "--data", str(server.data))
        assert taken.returncode == 1
        assert "[store_locked]" in taken.stderr
    assert [path.name for path in tmp_path.iterdir() if "unfinished" in path.name] == []


def test_what_was_there_is_kept_and_what_is_no_copy_is_refused(tmp_path: Path) -> None:
    """S13: a restore takes nothing away, and puts nothing in place that is no store."""
    data = tmp_path / "data"
    with Server(tmp_path) as server, server.client() as client:
        first = send(client, start_session(client), "hello")
        assert agio(tmp_path, "backup", str(tmp_path / "copy"), "--data", str(data)).returncode == 0
        second = send(client, start_session(client), "hello again")
        server.stop()
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"This is no database at all." * 100)
    cut = tmp_path / "cut"
    cut.write_bytes((tmp_path / "copy").read_bytes()[:-8192])
    for bad in (wrong, cut, tmp_path / "nothing"):
        refused = agio(tmp_path, "restore", str(bad), "--data", str(data))
        assert refused.returncode == 1
        assert "[store_" in refused.stderr
    assert asyncio.run(log_problems(data / "agio.db", [first, second])) == []
    done = agio(tmp_path, "restore", str(tmp_path / "copy"), "--data", str(data))
    assert done.returncode == 0, done.stderr
    [aside] = [path for path in data.iterdir() if path.name.startswith("agio.db.2")]
    assert str(aside) in done.stdout
    assert asyncio.run(log_problems(aside, [first, second])) == []
    assert asyncio.run(log_problems(data / "agio.db", [first])) == []
    assert any("missing" in found for found in asyncio.run(log_problems(data / "agio.db", [second])))


def test_a_shared_database_is_left_to_its_own_tools(tmp_path: Path) -> None:
    """S13: Postgres has pg_dump."""
    environment = {"AGIO_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    for command in ("backup", "restore"):
        done = agio(tmp_path, command, str(tmp_path / "copy"), environment=environment)
        assert done.returncode == 1
        assert "pg_" in done.stderr
        assert "[not_embedded]" in done.stderr
