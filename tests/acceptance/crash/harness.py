"""Throws faults at a real server while clients talk to it, then asks the checker. `make chaos N=500` runs it.

    python -m tests.acceptance.crash.harness 500 [--workers 2] [--seed 7]

Without `--workers` half of the faults go to a server in one process, half to one with two worker processes.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp

from agio.core.store.jobs import NewJob
from agio.db.repository import open_store
from agio.testing import Call, ModelCall, ModelServer, Reply
from tests.acceptance.checker import check, check_jobs, open_jobs
from tests.acceptance.crash.client import Client
from tests.support.clock import until
from tests.support.ports import free_port

HERE = Path(__file__).parent
API_KEY = "crash-test-key-of-more-than-32-characters"
POINTS = (
    "after_accept",
    "after_claim",
    "mid_turn",
    "turn_committed",
    "tool_started",
    "tool_finished",
    "append_committed",
    "before_the_end",
)
JOB_POINTS = ("job_claimed", "lease_acquired", "job_acted", "job_completed", "lease_released")
JOBS = 5
"""How many jobs are added for a fault at one of these points."""
LIMITS = {
    "running_per_user": 100,
    "running_per_key": 100,
    "running_per_tenant": 100,
    "messages_per_minute": 10_000,
    "requests_per_minute": 100_000,
    "heartbeat_s": 0.3,
    "silence_s": 1.5,
    "worker_silence_s": 1.0,
    "link_grace_s": 0.4,
    "tick_s": 0.5,
    "sweep_s": 0.5,
    "job_lease_s": 1.0,
    "drain_s": 5,
}
START_S = 120.0
SETTLE_S = 90.0


def answer(call: ModelCall) -> Reply:
    """Say what each agent's model says.

    The first one pays, notes and asks the clerk, then hands over to the teller, which notes and tells a long story in
    many pieces. The next message goes to the teller, which hands it back first.
    """
    note = Call("note", {"text": "it"})
    role, said = call.messages[-1][:2]
    begins = role == "user" or "continues the conversation" in said
    match call.system.splitlines()[0]:
        case "Look it up.":
            return Reply(tool_calls=[note]) if begins else Reply("It is there.")
        case "Tell." if role == "user":
            return Reply(tool_calls=[Call("transfer_to_crash", {"reason": "a new matter"})])
        case "Tell." if begins:
            return Reply("One moment.", tool_calls=[note])
        case "Tell.":
            return Reply("All done, and here is a long story about it. " * 3, chunk_chars=6, pace_s=0.004)
        case _ if begins:
            asked = Call("ask_clerk", {"input": "Is it there?"})
            return Reply("Let me see.", tool_calls=[Call("pay", {"amount": 5}), note, asked])
        case _:
            return Reply(tool_calls=[Call("transfer_to_teller", {"reason": "it is paid"})])


class Server:
    """`agio serve` as its own process, with a data folder that outlives it."""

    def __init__(self, folder: Path, model_url: str, workers: int, sabotage: str | None = None) -> None:
        self.folder = folder
        self.store = folder / "data" / "agio.db"
        self.ledger = folder / "ledger"
        self.workers = workers
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._env = {
            **os.environ,
            "PYTHONPATH": f"{HERE / 'site'}:{HERE.parents[2]}",
            "CRASH_LEDGER": str(self.ledger),
            "AGIO_TEST_JOBS": "1",
            "AGIO_BOOTSTRAP_API_KEY": API_KEY,
            "AGIO_LIMITS": json.dumps(LIMITS),
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "test-key",
        }
        if sabotage is not None:
            self._env["AGIO_TEST_SABOTAGE"] = sabotage
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, fault: str | None = None, at: int = 1) -> None:
        """Start it and wait until it serves; `fault` is the point at which one of its processes dies."""
        env = dict(self._env)
        for old in self.folder.glob("armed*"):
            old.unlink()
        if fault is not None:
            armed = self.folder / "armed"
            armed.write_text(str(at))
            env["AGIO_TEST_FAULT"] = f"{fault}={armed}"
        command = [sys.executable, "-m", "agio.cli.main", "serve", "--port", str(self.port)]
        command += ["--data", str(self.folder / "data"), "--app", str(HERE / "app.py")]
        command += ["--workers", str(self.workers)] if self.workers else []
        with (self.folder / "server.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(*command, env=env, stdout=log, stderr=log)
        deadline = time.monotonic() + START_S
        async with aiohttp.ClientSession() as http:
            while time.monotonic() < deadline and self._process.returncode is None:
                try:
                    async with http.get(self.url + "/api/ready") as ready:
                        if ready.status == 200:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.02)
        if self._process.returncode is None or fault is None:
            raise AssertionError(f"the server did not start:\n{self.tail()}")

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.returncode is None

    def tail(self) -> str:
        """The end of what it printed."""
        return (self.folder / "server.log").read_text(errors="replace")[-4000:]

    def worker_pids(self) -> list[int]:
        """The processes of its workers."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [int(pid) for pid in children.read_text().split()] if children.exists() else []

    async def kill(self) -> None:
        """`kill -9`, and wait until it is gone."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def struck(self, within_s: float) -> bool:
        """Wait for the fault it was started with, which happens later no more; have the server running again."""
        assert self._process is not None
        armed = self.folder / "armed"
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await until(lambda: not armed.exists())
        armed.unlink(missing_ok=True)
        dead = [path.name for path in self.folder.glob("armed-*")]
        if f"armed-{self._process.pid}" in dead:
            await self._process.wait()
            await self.start()
        return bool(dead)

    async def stop(self) -> None:
        """Ask it to stop, as an operator does."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.terminate()
            async with asyncio.timeout(START_S):
                await self._process.wait()


class Siege:
    """Clients that talk while faults happen. Afterwards `problems()` says what was broken."""

    def __init__(
        self, folder: Path, *, workers: int = 0, clients: int = 4, sabotage: str | None = None
    ) -> None:
        self.folder = folder
        self.workers = workers
        self.faults: Counter[str] = Counter()
        self.clients: list[Client] = []
        self.jobs: list[str] = []
        self._wanted = clients
        self._sabotage = sabotage
        self._stack = AsyncExitStack()
        self._talking: list[asyncio.Task[None]] = []
        self._stopping = False

    async def __aenter__(self) -> Self:
        model = await self._stack.enter_async_context(ModelServer())
        model.answer(answer)
        self.server = Server(self.folder, model.base_url("openai-chat"), self.workers, self._sabotage)
        self._stack.push_async_callback(self._end)
        await self.server.start()
        for _ in range(self._wanted):
            client = await self._stack.enter_async_context(Client(self.server.url, API_KEY))
            await client.start("crash")
            self.clients.append(client)
        self._talking = [asyncio.create_task(self._talk(client)) for client in self.clients]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _end(self) -> None:
        for task in self._talking:
            task.cancel()
        await asyncio.gather(*self._talking, return_exceptions=True)
        await self.server.kill()

    async def _talk(self, client: Client) -> None:
        while not self._stopping:
            word = f"word-{len(client.transcript.accepted)}-{client.transcript.session_id}"
            await client.send(word)
            await client.wait_for_end(client.transcript.accepted[word])

    async def strike(self, fault: str, rng: random.Random, within_s: float = START_S) -> None:
        """Do one fault, which must happen within this time to count, and have the server running again."""
        self.faults[fault] += 1
        match fault:
            case "kill server":
                await asyncio.sleep(rng.uniform(0.05, 0.5))
                await self.server.kill()
                await self.server.start()
            case "kill worker":
                await asyncio.sleep(rng.uniform(0.05, 0.5))
                for pid in self.server.worker_pids()[:1]:
                    os.kill(pid, signal.SIGKILL)
            case "freeze worker":
                await asyncio.sleep(rng.uniform(0.05, 0.3))
                for pid in self.server.worker_pids()[:1]:
                    os.kill(pid, signal.SIGSTOP)
                    await asyncio.sleep(LIMITS["silence_s"] + 1.0)
                    os.kill(pid, signal.SIGCONT)
            case _:
                await self.server.kill()
                if fault in JOB_POINTS:
                    await self._add_jobs()
                await self.server.start(fault, at=rng.randint(1, 4))
                if not await self.server.struck(within_s):
                    self.faults[fault] -= 1

    async def _add_jobs(self) -> None:
        store = await open_store(self.server.store)
        for _ in range(JOBS):
            self.jobs.append(f"job-{len(self.jobs)}")
            await store.add_job(NewJob(kind="tally", key=self.jobs[-1], tenant="default"))
        await store.close()

    async def settle(self, within_s: float = SETTLE_S) -> list[str]:
        """Let the clients finish what they began, stop the server, and return what the checker found."""
        self._stopping = True
        waiting: list[str] = []
        try:
            async with asyncio.timeout(within_s):
                await asyncio.gather(*self._talking)
                await until(lambda: not open_jobs(self.server.store))
        except TimeoutError:
            waiting = [
                f"clients or jobs still wait {within_s:g} s after the last fault:\n{self.server.tail()}"
            ]
        await self.server.stop()
        transcripts = [client.transcript for client in self.clients]
        problems = check(self.server.store, transcripts, self.server.ledger)
        return waiting + problems + check_jobs(self.server.store, self.jobs)


async def besiege(faults: int, workers: int, seed: int) -> list[str]:
    """Throw so many faults, print what happened, and return what was broken."""
    rng = random.Random(seed)
    kinds = ["kill server", *POINTS, *JOB_POINTS] + (["kill worker", "freeze worker"] if workers else [])
    with tempfile.TemporaryDirectory(prefix="agio-siege-") as folder:
        async with Siege(Path(folder), workers=workers) as siege:
            for number in range(faults):
                # Every kind once in each round, in an order of its own.
                if number % len(kinds) == 0:
                    rng.shuffle(kinds)
                await siege.strike(kinds[number % len(kinds)], rng)
            problems = await siege.settle()
            runs = sum(len(client.transcript.accepted) for client in siege.clients)
            events = sum(len(client.transcript.events) for client in siege.clients)
            rejoins = sum(client.rejoins for client in siege.clients)
            home = f"{workers} worker processes" if workers else "one process"
            print(f"{home}: {faults} faults, {runs} runs, {events} events, {rejoins} rejoins")
            print(
                "  " + ", ".join(f"{kind} {times}" for kind, times in sorted(siege.faults.items())),
                flush=True,
            )
            if problems:
                print(siege.server.tail())
    return problems


def main() -> None:
    """Run from the command line; exit 1 if a promise was broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("faults", type=int)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.workers is None:
        sieges = [(given.faults - given.faults // 2, 0), (given.faults // 2, 2)]
    else:
        sieges = [(given.faults, given.workers)]
    problems: list[str] = []
    for faults, workers in sieges:
        problems += asyncio.run(besiege(faults, workers, given.seed))
    for problem in problems:
        print(problem)
    print("nothing was lost, doubled or changed" if not problems else f"{len(problems)} promises broken")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
