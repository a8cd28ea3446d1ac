"""The command line of the official MCP Inspector, from npm, called with an API key."""

import asyncio
import json
from typing import Any

import pytest

from tests.support.node import NODE, NODE_FOLDER

PATIENCE_S = 120.0
_PROGRAM = NODE_FOLDER / "node_modules" / ".bin" / "inspector"


async def inspect(url: str, key: str, *options: str, home: str) -> dict[str, Any]:
    """Call a method of a server, and return what the Inspector prints."""
    if NODE is None or not _PROGRAM.exists():
        pytest.fail(f"{_PROGRAM.name} is not installed; run `make setup`.", pytrace=False)
    process = await asyncio.create_subprocess_exec(
        *(NODE, str(_PROGRAM), "--cli", url, "--transport", "http"),
        *("--header", f"Authorization: Bearer {key}", *options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"HOME": home},
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            said, complaint = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaint.decode()
    return json.loads(said)
