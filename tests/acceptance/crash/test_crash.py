"""Real processes, real kills: what the clients saw and the store has must agree, whatever died when."""

import asyncio
import os
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.crash.harness import JOB_POINTS, POINTS, Siege

pytestmark = pytest.mark.timeout(600)

LONG = "AGIO_CHAOS" in os.environ
SABOTAGES = [
    ("fence", "kill server", "says it is"),
    ("record", "tool_started", "pay was done"),
    ("relay", "shown", "not in the log"),
    ("job", "job_acted", "happened 2 times"),
]


async def _strike(siege: Siege, faults: list[str], seed: int) -> list[str]:
    rng = random.Random(seed)
    for fault in faults:
        await siege.strike(fault, rng)
    return await siege.settle()


async def test_one_process_survives_kill_9_at_every_point(tmp_path: Path) -> None:
    """B1: ten faults, the eight named points among them; nothing is lost, doubled or changed."""
    async with Siege(tmp_path, clients=3) as siege:
        problems = await _strike(siege, ["kill server", *POINTS, "kill server"], seed=1)
        assert problems == []
        assert siege.faults == {"kill server": 2, **dict.fromkeys(POINTS, 1)}
        assert all(client.transcript.accepted for client in siege.clients)


async def test_a_job_is_done_once_whenever_the_server_is_killed(tmp_path: Path) -> None:
    """B1: after the claim, with a lease, in the commit of the effect, and after it; no job is lost or doubled."""
    async with Siege(tmp_path, clients=0) as siege:
        assert await _strike(siege, [*JOB_POINTS], seed=3) == []
        assert siege.faults == dict.fromkeys(JOB_POINTS, 1)
        assert len(siege.jobs) == 25


async def test_workers_survive_kill_9_and_being_frozen(tmp_path: Path) -> None:
    """B1: faults with two worker processes, one frozen past its time that then wakes up; `make chaos` has more."""
    faults = ["kill worker", "freeze worker", "mid_turn", "tool_started", "append_committed"]
    async with Siege(tmp_path, workers=2, clients=3) as siege:
        problems = await _strike(siege, faults, seed=2)
        assert problems == []
        assert siege.faults == Counter(faults)


@pytest.mark.parametrize(("sabotage", "fault", "found"), SABOTAGES if LONG else SABOTAGES[:1])
async def test_the_checker_finds_what_a_missing_protection_breaks(
    tmp_path: Path, sabotage: str, fault: str, found: str
) -> None:
    """B1: without the fence, the tool record, persist before relay, or a job's one commit, the checker must fail."""
    problems: list[str] = []
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        async with Siege(folder, clients=3, sabotage=sabotage) as siege:
            rng = random.Random(attempt)
            for _ in range(2):
                await siege.strike(fault, rng, within_s=10)
            async with asyncio.timeout(120):
                problems = await siege.settle(within_s=20)
        if any(re.search(found, problem) for problem in problems):
            return
    pytest.fail(f"nothing was found with the {sabotage} gone: {problems}")
