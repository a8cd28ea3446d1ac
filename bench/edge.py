"""What the edge adds to a run: who asks, limits, request ids, the audit log and the logs, beside agio without them.

The other side is the last commit before there was an edge, or the one given with `--before`, from this repository's own
history. Both serve at the same time and are asked in many short turns, one right after the other, so that a
disturbance of the machine hits both; the median of the turns' differences counts, and a range that has it 95 times of
100. Two processes of the same commit differ by a few percent: for a small difference run it several times.
"""

import asyncio
import io
import json
import math
import subprocess
import sys
import tarfile
import tempfile
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from statistics import median

from model_process import ModelServer
from origin import ROOT, say
from page import OUT
from servers.load import put_load
from servers.processes import ServerProcess
from servers.subjects import APPS, NO_LIMITS, Server, agio

BEFORE = "5a979ef"
WARM_UP_RUNS = 200
RUNS = 100
AT_ONCE = 10
SETTLE_S = 0.3
KNOWN_BEFORE = ("running_per_user", "running_per_tenant", "running_per_worker", "queued_per_tenant")


class NoHistory(Exception):
    """The commit to compare with is not in this clone."""


def source_of(commit: str) -> Path:
    """Unpack the source of the earlier commit. Raises NoHistory."""
    folder = OUT / f"before-{commit}"
    if not folder.exists():
        command = ["git", "archive", "--format=tar", commit, "src"]
        packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if packed.returncode:
            raise NoHistory(f"commit {commit} is not in this clone: {packed.stderr.decode().strip()}")
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
    return folder / "src"


def subjects(before: str) -> tuple[Server, Server]:
    """This agio, and the earlier one under the same interpreter and packages."""
    now = agio("agio serve")
    extra = now.extra | {"PYTHONPATH": f"{source_of(before)}:{APPS}"}
    if before == BEFORE:
        extra["AGIO_LIMITS"] = json.dumps({name: NO_LIMITS[name] for name in KNOWN_BEFORE})
    return now, replace(now, name=f"agio serve at {before}", extra=extra)


async def bench(turns: int, before: str) -> dict[str, object]:
    """Measure CPU milliseconds a run of one token, in turns."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="edge-", dir=OUT)))
        model = stack.enter_context(closing(ModelServer()))
        model.control(1, 0)
        processes = [
            ServerProcess(server, folder / str(number), model.base_url)
            for number, server in enumerate(subjects(before))
        ]
        for process in processes:
            stack.callback(process.stop)
            await process.start()
            await _cost(process, WARM_UP_RUNS)
        taken: list[list[float]] = [[], []]
        for turn in range(turns):
            say(f"turn {turn + 1} of {turns}")
            order = (0, 1) if turn % 2 else (1, 0)
            for which in order:
                taken[which].append(await _cost(processes[which], RUNS))
    now_ms, before_ms = taken
    return {
        "commit_before": before,
        "runs_a_turn": RUNS,
        "now_ms": now_ms,
        "before_ms": before_ms,
        "added_ms": [a - b for a, b in zip(now_ms, before_ms, strict=True)],
    }


async def _cost(process: ServerProcess, runs: int) -> float:
    before_ns = process.cpu_ns()
    await put_load(process.port, process.shape, tokens=1, at_once=AT_ONCE, enough=lambda begun: begun >= runs)
    await asyncio.sleep(SETTLE_S)
    return (process.cpu_ns() - before_ns) / runs / 1e6


def range_of_median(values: list[float]) -> tuple[float, float]:
    """Between which of the sorted values the true median is, 95 times of 100 (the sign test's range)."""
    ordered = sorted(values)
    skipped = max(0, math.floor((len(ordered) - 1.96 * math.sqrt(len(ordered))) / 2))
    return ordered[skipped], ordered[-1 - skipped]


def render(results: dict[str, list[float]]) -> str:
    """Say it in four lines."""
    added, before_ms = sorted(results["added_ms"]), median(results["before_ms"])
    low, high = range_of_median(added)
    return "\n".join(
        [
            f"CPU of a run of one token, {len(added)} turns of {RUNS} runs:",
            f"  now               {median(results['now_ms']):.2f} ms",
            f"  at {results['commit_before']:<14} {before_ms:.2f} ms",
            f"  added             {median(added):+.2f} ms, {median(added) / before_ms:+.1%} "
            f"(95 %: between {low:+.2f} and {high:+.2f} ms; turns from {added[0]:+.2f} to {added[-1]:+.2f})",
        ]
    )


if __name__ == "__main__":
    sys.exit("Run it with: make bench ARGS=edge")
