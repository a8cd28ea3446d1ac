"""A server with an Agents SDK agent, killed with `kill -9`: the run goes on, and no tool is called twice."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from agio.testing import Call, ModelServer, Reply
from agio.testing.capture import ModelCall
from tests.support.process import KEY, Server

LIMIT_S = 120.0
MODULE = '''
import asyncio
from pathlib import Path

from agents import Agent, function_tool

HERE = Path(__file__).parent


def write_down(word):
    with (HERE / "ledger").open("a") as ledger:
        ledger.write(word + "\\n")


@function_tool
async def first() -> str:
    """Act first."""
    write_down("first")
    return "first done"


@function_tool
async def second() -> str:
    """Act second."""
    write_down("second")
    if (HERE / "hold").exists():
        await asyncio.Event().wait()
    return "second done"


doer = Agent("doer", instructions="Do both.", model="openai-chat:test", tools=[first, second])
'''


@pytest.mark.timeout(300)
@pytest.mark.parametrize("where", ["between the calls", "within the second call"])
async def test_a_killed_server_goes_on_without_calling_a_tool_again(tmp_path: Path, where: str) -> None:
    """R13: the first call's result is in the log; a second call that had begun is unknown, and said to the model."""
    module, ledger, hold = (tmp_path / name for name in ("doers.py", "ledger", "hold"))
    module.write_text(MODULE)
    reached = asyncio.Event()
    gate = asyncio.Event()
    if where == "within the second call":
        hold.touch()
        gate.set()

    def answer(call: ModelCall) -> Reply:
        said = str(call.body["messages"])
        if "first done" not in said:
            return Reply(tool_calls=[Call("first", {})])
        if "second" not in said.partition("first done")[2]:
            reached.set()
            return Reply("Now the second one.", tool_calls=[Call("second", {})], gate=gate)
        return Reply("All done.")

    async with asyncio.timeout(LIMIT_S), ModelServer() as model:
        model.answer(answer)
        environment = {"OPENAI_BASE_URL": model.base_url("openai-chat"), "OPENAI_API_KEY": "test-key"}
        headers = {"authorization": f"Bearer {KEY}"}
        with Server(tmp_path, "--app", str(module), environment=environment) as server:
            async with aiohttp.ClientSession(server.url, headers=headers) as http:
                agents = (await (await http.get("/api/agents?search=doer")).json())["items"]
                made = await http.post(f"/api/agents/{agents[0]['id']}/sessions", json={})
                session = (await made.json())["id"]
                path = f"/api/agent-sessions/{session}/message"
                async with http.post(path, json={"content": "Do both"}) as sent:
                    assert sent.status == 202
                await reached.wait()
                if hold.exists():
                    await written(ledger, "first\nsecond\n")
            server.process.kill()
        gate.set()
        with Server(tmp_path, "--app", str(module), environment=environment) as server:
            path = f"/api/agent-sessions/{session}/stream?after=0"
            async with (
                aiohttp.ClientSession(server.url, headers=headers) as http,
                http.get(path) as stream,
            ):
                lines: list[bytes] = []
                async for line in stream.content:
                    lines.append(line)
                    if b'"RUN_FINISHED"' in line or b'"RUN_ERROR"' in line:
                        break
    log = b"".join(lines)
    assert b'"outcome":{"type":"success"}' in log
    assert ledger.read_text() == "first\nsecond\n"
    assert (b'"error":"unknown"' in log) == hold.exists()


async def written(path: Path, text: str) -> None:
    """Wait until a file has a text."""
    while await asyncio.to_thread(lambda: path.exists() and path.read_text()) != text:
        pass
