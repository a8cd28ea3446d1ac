"""A disk that fills up while the server works: refused is refused, kept is kept, and room brings everything back."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import pytest

from tests.support.command import WAIT_S
from tests.support.process import Server, answer_of, send, start_session

SIZE = "6m"
STEP = 64 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = os.geteuid() == 0 and (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], check=False
        ).returncode
        == 0
    )
    if not mounted:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Fill the disk to the last byte with a file; return it."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        step = STEP
        while step:
            try:
                file.write(b"x" * step)
            except OSError:
                step //= 2
    return ballast


def idle(client: httpx.Client, path: str) -> None:
    """Wait until nothing runs or waits in the session."""
    end = time.monotonic() + WAIT_S
    while answer_of(client.get(f"{path}/status"))["state"] != "idle":
        assert time.monotonic() < end, "the session never came to rest"
        time.sleep(0.05)


def test_a_full_disk_refuses_messages_and_loses_none(small_disk: Path) -> None:
    """B1: 503 while the disk is full; every message that was acknowledged has its run; room heals the server."""
    with Server(small_disk) as server, server.client() as client:
        session = start_session(client)
        path = f"/api/agent-sessions/{session}"
        accepted = [send(client, session, f"Count to 5, {number}") for number in range(3)]
        ballast = fill(small_disk)
        refused: list[httpx.Response] = []
        for number in range(200):  # some still fit into pages that are there
            answer = client.post(f"{path}/message", json={"content": f"{number} " + "filler " * 500})
            if answer.status_code == 202:
                accepted.append(str(answer_of(answer)["run_id"]))
            else:
                refused.append(answer)
            if len(refused) == 3:
                break
        assert [(answer.status_code, code_of(answer)) for answer in refused] == [(503, "store_full")] * 3
        assert client.get("/api/health").status_code == 200
        ballast.unlink()
        accepted.append(send(client, session, "Is there room?"))
        idle(client, path)
        statuses = {run: answer_of(client.get(f"/api/runs/{run}"))["status"] for run in accepted}
        assert set(statuses.values()) == {"completed"}, statuses
        events = client.get(f"{path}/events", params={"after": 0}).text.splitlines()
        assert sum('"type":"RUN_STARTED"' in line for line in events) == len(accepted)
        assert sum('"type":"RUN_FINISHED"' in line for line in events) == len(accepted)
        assert client.get("/api/ready").status_code == 200


def code_of(answer: httpx.Response) -> str:
    """Return the error's code."""
    return str(cast("dict[str, dict[str, object]]", answer.json())["error"]["code"])
