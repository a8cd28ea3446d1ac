"""The clients of docs/streaming_protocol.md read a stored run from a real server, over a broken connection."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.docs.services import SseServer, two_runs
from tests.support.node import NODE
from tests.support.pages import ROOT, Block, blocks_of

PAGE = ROOT / "docs" / "streaming_protocol.md"
DOCUMENTED_URL = "http://127.0.0.1:8700/api/agent-sessions/SESSION/stream"
ANSWER = "The first try broke off and was taken back; this is the second, and it is whole.\n"


def _clients(language: str) -> list[Block]:
    return [block for block in blocks_of(PAGE, language) if DOCUMENTED_URL in block.code]


@pytest.mark.parametrize("cut_after", [0, 4, 9, 20], ids=lambda count: f"cut after {count} events")
@pytest.mark.parametrize("language", ["python", "js"])
async def test_a_documented_client_shows_the_answer_once_whatever_breaks(
    language: str, cut_after: int, tmp_path: Path
) -> None:
    """L8: each client resumes with Last-Event-ID, honours the rewind and ends with the run."""
    (block,) = _clients(language)
    logs = await two_runs(tmp_path / "runs.db")
    async with SseServer(logs[1], cut_after).serving() as server:
        file = tmp_path / ("client.py" if language == "python" else "client.mjs")
        file.write_text(block.code.replace(DOCUMENTED_URL, server.url))
        program = sys.executable if language == "python" else str(NODE)
        client = await asyncio.create_subprocess_exec(
            program, str(file), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            printed, complaints = await asyncio.wait_for(client.communicate(), 90)
        finally:
            if client.returncode is None:
                client.kill()
                await client.wait()
    assert (printed.decode(), complaints.decode()) == (ANSWER, "")
    first_pos = logs[1].info.first_pos
    assert server.asked == ([None, str(first_pos + cut_after)] if cut_after else [None, None])


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_clients_are_short(language: str) -> None:
    """L8: a client is less than 40 lines, and each language has one."""
    (block,) = _clients(language)
    assert len(block.code.splitlines()) < 40
