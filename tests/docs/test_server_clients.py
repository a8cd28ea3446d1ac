"""The clients of docs/streaming_protocol.md against a real server, over connections that break."""

import asyncio
import sys
from collections.abc import Generator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.docs.proxy import BreakingProxy
from tests.support.node import NODE, NODE_FOLDER
from tests.support.pages import ROOT, Block, blocks_of
from tests.support.process import KEY, Server

PAGE = ROOT / "docs" / "streaming_protocol.md"
DOCUMENTED = "127.0.0.1:8700"
ANSWER = "The first try broke off and was taken back; this is the second, and it is whole.\n"
STREAMS = {
    "SSE": "/api/agent-sessions/SESSION/stream",
    "WebSocket": "/realtime",
    "AG-UI": "/api/agents/AGENT/ag-ui",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """A server of its own for these tests."""
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server.url


@pytest.fixture
def agent(address: str) -> str:
    """An agent that answers without a network."""
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
        fields = {
            "name": f"demo {uuid4()}",
            "system_prompt": "Answer.",
            "model_provider": "demo",
            "model_name": "demo",
        }
        return client.post("/api/agents", json=fields).raise_for_status().json()["id"]


def _client(kind: str, language: str) -> Block:
    places = [block for block in blocks_of(PAGE, language) if f"{DOCUMENTED}{STREAMS[kind]}" in block.code]
    (block,) = places
    return block


async def _run(block: Block, folder: Path, **names: str) -> str:
    """Run a client as the page has it, but for the names that stand for the reader's own."""
    code = block.code
    for name, value in names.items():
        code = code.replace(DOCUMENTED if name == "ADDRESS" else name, value)
    file = folder / ("client.py" if block.language == "python" else "client.mjs")
    file.write_text(code)
    (folder / "node_modules").symlink_to(NODE_FOLDER / "node_modules")
    program = sys.executable if block.language == "python" else str(NODE)
    client = await asyncio.create_subprocess_exec(
        program, str(file), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        printed, complaints = await asyncio.wait_for(client.communicate(), 90)
    finally:
        if client.returncode is None:
            client.kill()
            await client.wait()
    assert complaints.decode() == ""
    return printed.decode()


@pytest.mark.parametrize("cut_after", [100, 900, 3000], ids=lambda count: f"cut after {count} bytes")
@pytest.mark.parametrize("language", ["python", "js"])
@pytest.mark.parametrize("kind", ["SSE", "WebSocket"])
async def test_a_client_goes_on_after_a_break(
    kind: str, language: str, cut_after: int, address: str, agent: str, tmp_path: Path
) -> None:
    """L8, C7: it shows the answer once and whole, over as many connections as it takes."""
    async with (
        httpx.AsyncClient(base_url=address, headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as http,
        BreakingProxy(int(address.rpartition(":")[2]), cut_after).serving() as proxy,
    ):
        session = (await http.post(f"/api/agents/{agent}/sessions", json={})).json()["id"]
        if kind == "SSE":
            sent = await http.post(f"/api/agent-sessions/{session}/message", json={"content": "be flaky"})
            assert sent.status_code == 202
        names = {"ADDRESS": proxy.address, "API_KEY": KEY, "AGENT": agent, "SESSION": session}
        names["my-first-message"] = f"{language} {cut_after}"
        assert await _run(_client(kind, language), tmp_path, **names) == ANSWER
        assert proxy.connections > 1
        if kind == "WebSocket":
            runs = (await http.get("/api/runs", params={"agent_id": agent})).json()["items"]
            assert len(runs) == 1


@pytest.mark.parametrize("language", ["python", "js"])
async def test_an_ag_ui_client_shows_the_answer_once(
    language: str, address: str, agent: str, tmp_path: Path
) -> None:
    """L8, B8: the official client, and one by hand, take what was taken back as taken back."""
    names = {"ADDRESS": address.removeprefix("http://"), "API_KEY": KEY, "AGENT": agent}
    assert await _run(_client("AG-UI", language), tmp_path, **names) == ANSWER


@pytest.mark.parametrize("language", ["python", "js"])
@pytest.mark.parametrize("kind", STREAMS)
def test_the_clients_are_short(kind: str, language: str) -> None:
    """L8: a client is at most 40 lines."""
    assert len(_client(kind, language).code.splitlines()) <= 40
