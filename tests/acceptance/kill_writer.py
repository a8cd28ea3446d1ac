"""Kills a writing process again and again: `python -m tests.acceptance.kill_writer N`.

A child writes runs and prints each acknowledgement; the parent kills it at a random one, opens the store,
checks every log against what the child must have written, takes the interrupted runs over and ends them.
"""

import asyncio
import hashlib
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct

from agio.core.model import Usage, VendorTurn
from agio.core.store.repository import (
    AgentRunRepository,
    Append,
    NewRun,
    RunInfo,
    ToolBegin,
    ToolRecord,
    TurnRecord,
)
from agio.db.repository import open_store
from agio.protocol.codec import encode
from agio.protocol.events import TextMessageChunk
from agio.protocol.frames import Frame

LANES = 6
"""Runs a child writes at the same time."""
APPENDS = 12
CHILD_LIMIT_S = 60.0


class Acknowledged(Struct):
    """The last thing a child said of a run: how far it was stored, and the digest of all of it."""

    seq: int
    digest: str


class Totals(Struct):
    """What a session of kills has checked."""

    kills: int = 0
    runs: int = 0
    interrupted: int = 0
    events: int = 0
    tools: int = 0


class Lost(Exception):
    """The store is not what was acknowledged."""


def event_line(run_id: str, seq: int) -> bytes:
    """The event a run has at `seq`: anyone can work out what the child must have written."""
    noise = hashlib.sha256(f"{run_id}/{seq}".encode()).hexdigest()
    size = int(noise[:2], 16) * (200 if seq % 17 == 0 else 1)
    return encode(TextMessageChunk(message_id="msg_1", delta=noise + "ü" * size)) + b"\n"


def expected(run_id: str, first_seq: int, last_seq: int) -> bytes:
    """The events of a run from one to another."""
    return b"".join(event_line(run_id, seq) for seq in range(first_seq, last_seq + 1))


def digest(payload: bytes) -> str:
    """A short name for bytes."""
    return hashlib.sha256(payload).hexdigest()[:16]


async def write(path: Path, seed: str) -> None:
    """The child: write runs without end, printing each acknowledgement after its commit."""
    store = await open_store(path)
    await asyncio.gather(*(_write_lane(store, f"{seed}-{lane}") for lane in range(LANES)))


async def _write_lane(store: AgentRunRepository, lane: str) -> None:
    dice = random.Random(lane)
    number = 0
    while True:
        number += 1
        run_id = f"{lane}-{number}"
        create: NewRun | None = NewRun(run_id, lane, "a", "m", "mark", title=run_id)
        if number % 2:
            await store.create_run(create)
            _say("run", run_id, "0", digest(b""))
            create = None
        last = 0
        for step in range(1, APPENDS + 1):
            first, last = last + 1, last + dice.choice((1, 1, 2, 5, 40))
            frame = Frame(run_id, 1, first, last - first + 1, expected(run_id, first, last))
            turns = [_turn(run_id, step, last)] if step % 4 == 0 else []
            end = "completed" if step == APPENDS else None
            key = f"{step}.0"
            begins = [ToolBegin(key, "pay")] if turns and end is None else []
            await store.append(Append(frame, turns, end, None, create, begins))
            create = None
            _say("run", run_id, str(last), digest(expected(run_id, 1, last)))
            if begins:
                await store.end_tool(run_id, key, ToolRecord(f"result of {step}"))
                _say("tool", run_id, key, f"result of {step}")


def _turn(run_id: str, step: int, seq: int) -> TurnRecord:
    return TurnRecord(run_id, step, seq, "m", "end", Usage(output=step), VendorTurn("openai", [step]))


def _say(*words: str) -> None:
    print("\t".join(words), flush=True)


def write_and_kill(
    path: Path, seed: str, lines: int
) -> tuple[dict[str, Acknowledged], dict[tuple[str, str], str]]:
    """Start a child, kill it after it printed so many lines, and return all that it acknowledged."""
    runs: dict[str, Acknowledged] = {}
    tools: dict[tuple[str, str], str] = {}
    command = [sys.executable, "-m", "tests.acceptance.kill_writer", "--child", str(path), seed]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for count, line in enumerate(child.stdout, 1):
            if count == lines:
                child.send_signal(signal.SIGKILL)
            if not line.endswith("\n"):
                break  # cut by the kill: not an acknowledgement
            kind, run_id, where, value = line.rstrip("\n").split("\t")
            if kind == "run":
                runs[run_id] = Acknowledged(int(where), value)
            else:
                tools[run_id, where] = value
        if child.wait(timeout=CHILD_LIMIT_S) != -signal.SIGKILL:
            raise Lost(f"The child ended by itself with {child.returncode}.")
    return runs, tools


async def check(
    store: AgentRunRepository,
    runs: dict[str, Acknowledged],
    tools: dict[tuple[str, str], str],
    totals: Totals,
) -> list[RunInfo]:
    """Compare the store with what was acknowledged; return the runs that were interrupted."""
    for run_id, known in runs.items():
        log = await store.get_log(run_id)
        last = log.info.last_seq
        if last < known.seq:
            raise Lost(f"{run_id}: {known.seq} events were acknowledged, {last} are stored.")
        if log.payload != expected(run_id, 1, last):
            raise Lost(f"{run_id}: the log of {last} events is not what was written.")
        if digest(expected(run_id, 1, known.seq)) != known.digest:
            raise Lost(f"{run_id}: the child acknowledged other bytes at {known.seq}.")
        middle = last // 2
        if (await store.get_log(run_id, middle)).payload != expected(run_id, middle + 1, last):
            raise Lost(f"{run_id}: reading after {middle} gives other events.")
        for turn in log.turns:
            if turn != _turn(run_id, turn.step, turn.seq) or turn.seq > last:
                raise Lost(f"{run_id}: turn {turn.step} is not what was written.")
        totals.runs += 1
        totals.events += last
    for (run_id, key), result in tools.items():
        if await store.begin_tool(run_id, key) != ToolRecord(result):
            raise Lost(f"{run_id}: the result of tool call {key} is gone.")
        totals.tools += 1
    return [run for run in await store.list_runs(limit=10_000) if run.status == "running"]


async def take_over(store: AgentRunRepository, run: RunInfo) -> None:
    """Claim an interrupted run and end it; whoever had it writes nothing any more."""
    claimed = await store.claim_run(run.run_id)
    first = claimed.last_seq + 1
    frame = Frame(run.run_id, claimed.epoch, first, 2, expected(run.run_id, first, first + 1))
    await store.append(Append(frame, (), "cancelled"))
    log = await store.get_log(run.run_id)
    if log.payload != expected(run.run_id, 1, first + 1) or log.info.status != "cancelled":
        raise Lost(f"{run.run_id}: the run that was taken over did not end as it should.")


async def torture(kills: int, path: Path, seed: int) -> Totals:
    """Kill so many writers of one store, checking after each. Raises Lost."""
    dice = random.Random(seed)
    totals = Totals()
    everything: dict[str, Acknowledged] = {}
    for kill in range(1, kills + 1):
        lines = dice.choice((1, dice.randint(1, 30), dice.randint(1, 400)))
        runs, tools = await asyncio.to_thread(write_and_kill, path, f"{seed}-{kill}", lines)
        store = await open_store(path)
        interrupted = await check(store, runs, tools, totals)
        for run in interrupted:
            await take_over(store, run)
            everything[run.run_id] = Acknowledged(0, digest(b""))
        everything |= {run_id: known for run_id, known in runs.items() if run_id not in everything}
        await store.close()
        totals.kills += 1
        totals.interrupted += len(interrupted)
        print(
            f"kill {kill}: after {lines} lines, {len(runs)} runs, {len(interrupted)} taken over", flush=True
        )
    store = await open_store(path)
    if await check(store, everything, {}, Totals()):
        raise Lost("A run that was taken over is running again.")
    await store.close()
    return totals


def main(arguments: list[str]) -> None:
    """Run the child, or so many kills on a new store."""
    if arguments[:1] == ["--child"]:
        asyncio.run(write(Path(arguments[1]), arguments[2]))
        return
    kills = int(arguments[0]) if arguments else 20
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        totals = asyncio.run(torture(kills, Path(folder) / "agio.db", seed))
    print(
        f"{totals.kills} kills: {totals.runs} runs, {totals.events} events and {totals.tools} tool results "
        f"checked, {totals.interrupted} runs taken over; nothing lost, doubled or changed."
    )


if __name__ == "__main__":
    main(sys.argv[1:])
