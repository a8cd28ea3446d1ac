"""A real server to throw things at: a process with a store, a worker with the demo model, and high limits."""

import json
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import cast

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.support.command import AGIO
from tests.support.house import AGENT
from tests.support.process import Server, answer_of, send, stream, text_of

WORKER_KEY = "the-key-of-a-worker-that-sends-nonsense."
WAIT_S = 60.0
_OFTEN = 10_000_000
LIMITS = {
    "requests_per_minute": _OFTEN,
    "messages_per_minute": _OFTEN,
    "tool_calls_per_minute": _OFTEN,
    "files_per_minute": _OFTEN,
    "bad_keys_per_minute": _OFTEN,
    "sign_ins_at_once": _OFTEN,
    "sign_in_every_s": 0.001,
    "queued_per_tenant": 100_000,
    "queued_per_user": 100_000,
    "unused_files": 100_000,
    "running_per_user": 100_000,
    "running_per_key": 100_000,
    "running_per_tenant": 100_000,
    "keep_alive_s": 0.1,
    "link_grace_s": 0.1,
}
HARMLESS = (
    "Invalid HTTP request received.",
    "a worker sent an invalid frame",
    "WebSocket connection is not",
    "Unsupported upgrade request.",
)
"""What the log may say of what came from outside."""


class Target(Server):
    """`agio serve`, whose log is in a file."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log.jsonl"
        serve = [*AGIO, "serve", "--port", "0", "--data", str(folder / "data")]
        super().__init__(
            folder,
            program=["sh", "-c", 'exec "$@" 2>"$0"', str(self.log), *serve],
            environment={
                "AGIO_LIMITS": json.dumps(LIMITS),
                "AGIO_WORKER_KEY": WORKER_KEY,
                "AGIO_LOG_FORMAT": "json",
            },
        )

    @property
    def port(self) -> int:
        """Where it listens."""
        return httpx.URL(self.url).port or 80

    @property
    def memory_kib(self) -> int:
        """How much memory it has."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    def lines(self) -> Iterator[dict[str, object]]:
        """What it logged."""
        with self.log.open() as log:
            for line in log:
                yield cast("dict[str, object]", json.loads(line))

    def requests(self) -> Counter[int]:
        """How many requests it answered, by status."""
        told = (line.get("status") for line in self.lines() if line["logger"] == "agio.access")
        return Counter(status for status in told if isinstance(status, int))

    def complaints(self) -> list[dict[str, object]]:
        """Everything it logged that it should not have had to."""
        return [
            line
            for line in self.lines()
            if line["level"] in ("warning", "error", "critical")
            and not str(line["message"]).startswith(HARMLESS)
        ]

    @cached_property
    def key_id(self) -> str:
        """The id of the key that the tests come with: asked for while there is no other."""
        with self.client() as client:
            (key,) = cast("list[dict[str, str]]", answer_of(client.get("/api/api-keys"))["items"])
            return key["id"]

    def connect(self, path: str, key: str) -> ClientConnection:
        """Open a WebSocket."""
        return connect(
            f"ws://127.0.0.1:{self.port}{path}",
            additional_headers={"authorization": f"Bearer {key}"},
            max_size=None,
            proxy=None,
            open_timeout=WAIT_S,
        )

    def check_alive(self) -> None:
        """See that it is well: it answers, a whole run works, and nothing happened that nobody foresaw."""
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        with self.client() as client:
            assert client.get("/api/health").status_code == 200
            assert client.get("/api/ready").status_code == 200
            made = answer_of(client.post("/api/agents", json={**AGENT, "name": token_hex(8)}))
            session = str(answer_of(client.post(f"/api/agents/{made['id']}/sessions", json={}))["id"])
            send(client, session, "Are you there?")
            assert text_of(stream(client, session))
        assert not self.complaints(), self.complaints()[:5]


@contextmanager
def target(folder: Path) -> Generator[Target]:
    """Serve until the test is done; then it must be well."""
    with Target(folder) as server:
        yield server
        server.check_alive()
