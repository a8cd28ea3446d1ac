"""The official MCP conformance suite, from npm: one role at one revision, against the failures that are expected.

The expected ones are in tests/node/conformance, a file a revision with a list for each role.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Literal

import pytest
from msgspec import Struct

from tests.support.node import NODE, NODE_FOLDER

REVISIONS = ("2026-07-28", "2025-11-25")
PATIENCE_S = 240.0
_PACKAGE = NODE_FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance"
_RESULT = re.compile(r"^(✓|✗) ([^:\s]+): (\d+) passed, (\d+) failed", re.MULTILINE)


class Scenario(Struct, frozen=True):
    """How many checks of a scenario passed and failed."""

    passed: int
    failed: int


class Conformance(Struct, frozen=True):
    """What a run of the suite found. `as_expected`: only expected checks failed, and each of them did."""

    as_expected: bool
    scenarios: Mapping[str, Scenario]
    report: str


async def run_conformance(role: Literal["server", "client"], revision: str, *target: str) -> Conformance:
    """Run what a revision requires of a role. The target is `--url URL`, or `--command COMMAND` of a client."""
    if NODE is None or not _PACKAGE.is_dir():
        pytest.fail(f"{_PACKAGE.name} is not installed; run `make setup`.", pytrace=False)
    expected = NODE_FOLDER / "conformance" / f"{revision}.yaml"
    program = [NODE, str(_PACKAGE / "dist" / "index.js"), role, *target]
    code, report = await _finished(
        [*program, "--requirements", revision, "--expected-failures", str(expected)]
    )
    found = {name: Scenario(int(passed), int(failed)) for _, name, passed, failed in _RESULT.findall(report)}
    return Conformance(code == 0, found, report)


async def _finished(command: Sequence[str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, output.decode()
