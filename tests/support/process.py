"""Runs a real server in a process of its own, far from anybody's home and on a free port."""

import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import httpx

from tests.support.command import AGIO, WAIT_S

KEY = "a-key-for-the-tests-of-forty-characters."
READY = re.compile(r"agio is ready on (http://\S+)")
PAUSE_S = 0.02
"""Between two looks: without it the one who waits takes the processor from the one waited for."""
LINK = re.compile(r"sign in(?: once)?:\s+(http\S+)")


class Server:
    """`agio serve`, another command, or a program that starts it. Use it with `with`; what it prints is kept."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        command: str = "serve",
        program: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        wait: bool = True,
        own_data: bool = True,
    ) -> None:
        self.data = folder / "data"
        self.arguments = arguments
        self.url = ""
        self.sign_in = ""
        self.errors = ""
        self._printed = ""
        self._ready = wait
        self._said = threading.Event()
        self._lines: queue.Queue[str | None] = queue.Queue()
        place = (
            ["--port", "0", "--data", str(self.data)] if own_data and command in ("serve", "gateway") else []
        )
        self._command = program or [*AGIO, command, *place, *arguments]
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "AGIO_BOOTSTRAP_API_KEY": KEY,
            **(environment or {}),
        }

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment,
            text=True,
        )
        self._readers = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        if self._ready:
            self.await_ready()
        return self

    def await_ready(self) -> None:
        """Wait until it says that it is ready."""
        self.url = self.expect(READY)
        self.sign_in = self.expect(LINK)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line
            self._said.set()

    def await_ready_again(self) -> None:
        """Wait until it says once more that it is ready."""
        self._printed = ""
        self.await_ready()

    def await_workers(self, client: httpx.Client, count: int) -> None:
        """Wait until so many workers are linked."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            ready = client.get("/api/ready")
            if ready.is_success and answer_of(ready)["workers"] == count:
                return
            time.sleep(PAUSE_S)
        raise TimeoutError(f"there were never {count} workers")

    def expect(self, pattern: re.Pattern[str]) -> str:
        """Wait until a line is printed that fits; return its first group."""
        end = time.monotonic() + WAIT_S
        while not (found := pattern.search(self._printed)):
            line = self._lines.get(timeout=max(0.01, end - time.monotonic()))
            assert line is not None, f"it ended: {self._printed}{self.errors}"
            self._printed += line
        return found.group(1)

    def expect_error(self, words: str) -> None:
        """Wait until something is said on standard error."""
        end = time.monotonic() + WAIT_S
        while words not in self.errors:
            self._said.wait(max(0.0, end - time.monotonic()))
            self._said.clear()
            assert time.monotonic() < end, f"{words!r} was not said in: {self.errors}"

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; return the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end; return the exit code."""
        code = self.process.wait(WAIT_S)
        for reader in self._readers:
            reader.join(WAIT_S)
        return code

    def output(self) -> str:
        """Everything it has printed, once it has ended."""
        while (line := self._lines.get(timeout=WAIT_S)) is not None:
            self._printed += line
        return self._printed

    def processor_s(self) -> float:
        """How much time of a processor it has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @contextmanager
    def client(self, key: str | None = KEY) -> Generator[httpx.Client]:
        """A program that talks to the server."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=WAIT_S, trust_env=False) as client:
            yield client


def start_session(client: httpx.Client, agent: str = "demo") -> str:
    """Begin a conversation with the agent of this name; return its id."""
    agents = cast("list[dict[str, str]]", answer_of(client.get("/api/agents"))["items"])
    agent_id = next(entry["id"] for entry in agents if entry["name"] == agent)
    return str(answer_of(client.post(f"/api/agents/{agent_id}/sessions", json={}))["id"])


def send(client: httpx.Client, session: str, text: str) -> str:
    """Send a message; return the id of its run."""
    sent = client.post(f"/api/agent-sessions/{session}/message", json={"content": text})
    assert sent.status_code == 202
    return str(answer_of(sent)["run_id"])


def stream(client: httpx.Client, session: str, after: int | None = None) -> list[dict[str, object]]:
    """Read a session's stream up to the end of a run; return the events."""
    return [event for _, event in frames(client, session, after)]


def frames(
    client: httpx.Client, session: str, after: int | None = None
) -> Iterator[tuple[int, dict[str, object]]]:
    """Read a session's stream up to the end of a run: each event with its position."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with client.stream("GET", f"/api/agent-sessions/{session}/stream", headers=headers) as response:
        assert response.status_code == 200
        pos = 0
        for line in response.iter_lines():
            if line.startswith("id: "):
                pos = int(line[4:])
            if line.startswith("data: "):
                event = cast("dict[str, object]", json.loads(line[6:]))
                yield pos, event
                if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                    return


def await_events(client: httpx.Client, count: int) -> None:
    """Wait until the newest run has so many events."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        runs = cast("list[dict[str, int]]", answer_of(client.get("/api/runs", params={"limit": 1}))["items"])
        if runs and runs[0]["last_seq"] >= count:
            return
        time.sleep(PAUSE_S)
    raise TimeoutError(f"no run had {count} events")


def text_of(events: list[dict[str, object]]) -> str:
    """Return the text of an answer; what was taken back does not count."""
    pieces: dict[int, str] = {}
    for event in events:
        seq = cast("dict[str, int]", event["metadata"])["seq"]
        if event["type"] == "TEXT_MESSAGE_CHUNK":
            pieces[seq] = str(event["delta"])
        elif event.get("name") == "agio.rewind":
            kept = cast("dict[str, int]", event["value"])["to_seq"]
            pieces = {at: piece for at, piece in pieces.items() if at <= kept}
    return "".join(pieces.values())


def answer_of(response: httpx.Response) -> dict[str, object]:
    """Return the JSON object of a good answer."""
    assert response.is_success, response.text
    return cast("dict[str, object]", response.json())
