"""`agio cluster`: a whole cluster by one command, on one machine."""

import time
from pathlib import Path

from tests.support.command import WAIT_S
from tests.support.process import PAUSE_S, Server, answer_of, send, start_session, stream, text_of


def trial(folder: Path, *, wait: bool = True) -> Server:
    """A cluster in a folder, on any port."""
    return Server(folder, "--port", "0", "--data", str(folder / "data"), command="cluster", wait=wait)


def test_one_command_is_a_cluster_and_its_end_is_the_end_of_all(tmp_path: Path) -> None:
    """S10: it says when it is ready, answers a message behind its proxy, and leaves no process."""
    with trial(tmp_path) as cluster:
        with cluster.client() as client:
            cluster.await_workers(client, 2)
            session = start_session(client)
            send(client, session, "hello")
            assert text_of(stream(client, session))
            assert answer_of(client.get("/api/ready"))["status"] == "ready"
        postgres = int((tmp_path / "data" / "postgres" / "postmaster.pid").read_text().split()[0])
        processes = {postgres, *descendants(cluster.process.pid)}
        assert len(processes) >= 6, "2 gateways, 2 workers, NATS, PostgreSQL"
        assert cluster.stop() == 0
        assert "Traceback" not in cluster.errors
        end = time.monotonic() + WAIT_S
        while left := {pid for pid in processes if is_running(pid)}:
            assert time.monotonic() < end, left
            time.sleep(PAUSE_S)


def test_a_trial_without_a_database_says_so(tmp_path: Path) -> None:
    """S10: a file is where PostgreSQL's folder should be."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "postgres").write_text("a file")
    with trial(tmp_path, wait=False) as cluster:
        assert cluster.wait() == 1
    assert "[cluster_failed]" in cluster.errors
    assert "Traceback" not in cluster.errors


def descendants(pid: int) -> set[int]:
    """The processes that a process has begun, and those that they have."""
    children = {
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    }
    return children.union(*(descendants(child) for child in children))


def is_running(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
