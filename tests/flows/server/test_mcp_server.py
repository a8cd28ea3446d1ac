"""B8 in every home: agents as MCP tools, called with the official client in both eras of the protocol."""

import asyncio
import json
from typing import Any, cast

import pytest
from mcp import Client, MCPError

from agio.testing import Call, HttpStatus, Reply
from tests.flows.server.home import Home
from tests.flows.server.tools import paid
from tests.support.mcp_client import VERSIONS, Mode, mcp_client, outcome, said
from tests.support.served import KEY

HEADERS = {"authorization": f"Bearer {KEY}"}
EACH_ERA = pytest.mark.parametrize("mode", VERSIONS)


async def until_runs(home: Home, status: str, count: int = 1) -> list[dict[str, object]]:
    """Wait until so many runs have a status, and return them."""
    async with asyncio.timeout(60):
        while True:
            listed = (await home.ask("GET", f"/api/runs?status={status}"))["items"]
            if len(runs := cast("list[dict[str, object]]", listed)) == count:
                return runs
            await asyncio.sleep(0.01)


@EACH_ERA
async def test_an_agent_is_a_tool_that_answers_and_continues(home: Home, mode: Mode) -> None:
    """B8: listed by name, called with a message, continued by its session id, with progress while it runs."""
    await home.create_agent(name="Tea shop", description="Sells tea.", tools=["add"])
    home.model.script(
        Reply("Let me add.", tool_calls=[Call("add", {"a": 1, "b": 2})]),
        Reply("It is 3."),
        Reply("You asked."),
    )
    told: list[tuple[float, str]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))

    async with mcp_client(home.url, HEADERS, mode) as client:
        assert client.protocol_version == VERSIONS[mode]
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert (tools["Tea_shop"].title, tools["Tea_shop"].description) == ("Tea shop", "Sells tea.")
        done = await client.call_tool("Tea_shop", {"message": "1 + 2?"}, progress_callback=tell)
        first = outcome(done)
        assert (first["status"], first["answer"], said(done)) == ("completed", "It is 3.", "It is 3.")
        assert not done.is_error
        again = outcome(
            await client.call_tool("Tea_shop", {"message": "What?", "session_id": first["session_id"]})
        )
    assert (again["answer"], again["session_id"]) == ("You asked.", first["session_id"])
    assert again["run_id"] != first["run_id"]
    assert {"step-1", "Let me add.", "calls add", "step-2", "It is 3."} <= {message for _, message in told}
    assert [progress for progress, _ in told] == sorted({progress for progress, _ in told})
    assert home.model.problems == []


@EACH_ERA
async def test_an_approval_is_a_link_for_a_person(home: Home, mode: Mode) -> None:
    """B8: nothing is done; the answer says where a person decides, and the session goes on from there."""
    before = len(paid)
    await home.create_agent(name="payer", tools=["pay"])
    home.model.script(
        Reply("I will.", tool_calls=[Call("pay", {"amount": 5})]), Reply("Paid."), Reply("Yes.")
    )
    async with mcp_client(home.url, HEADERS, mode) as client:
        asked = await client.call_tool("payer", {"message": "Pay 5"})
        waiting = outcome(asked)
        link = f"{home.url}/chat/{waiting['session_id']}"
        assert (waiting["status"], waiting["approval_url"], asked.is_error) == (
            "waiting for approval",
            link,
            False,
        )
        assert link in said(asked)
        assert len(paid) == before
        session = f"/api/agent-sessions/{waiting['session_id']}"
        [question] = cast("list[dict[str, str]]", (await home.ask("GET", f"{session}/interrupts"))["items"])
        answer = {"interrupt_id": question["id"], "approved": True}
        await home.ask("POST", f"{session}/answer", {"answers": [answer]}, expect=202)
        await until_runs(home, "completed")
        after = await client.call_tool("payer", {"message": "Done?", "session_id": waiting["session_id"]})
    assert len(paid) == before + 1
    assert outcome(after)["answer"] == "Yes."


@EACH_ERA
async def test_a_failure_is_a_result_with_a_code(home: Home, mode: Mode) -> None:
    """B8: a run that fails or is cancelled elsewhere, a foreign session, wrong arguments; an unknown tool is none."""
    home.model.script(Reply(fault=HttpStatus(400)), Reply("word " * 40, gate=asyncio.Event()))
    await home.create_agent(name="broken")
    other = await home.start_session(await home.create_agent(name="other"))

    async def error_of(client: Client, **arguments: Any) -> tuple[str, str]:
        result = await client.call_tool("broken", arguments)
        assert result.is_error
        problem = outcome(result)["error"]
        assert said(result) == f"{problem['code']}: {problem['message']}"
        return outcome(result)["status"], problem["code"]

    async with mcp_client(home.url, HEADERS, mode) as client:
        assert await error_of(client, message="Hi") == ("failed", "bad_request")
        assert await error_of(client, message="Hi", session_id=other) == ("refused", "session_not_found")
        assert await error_of(client, message="Hi", session_id="ses_none") == ("refused", "session_not_found")
        assert await error_of(client, message=7) == ("refused", "invalid_body")
        assert await error_of(client, words="Hi") == ("refused", "invalid_body")
        assert await error_of(client, message="x" * 300_000) == ("refused", "message_too_large")
        with pytest.raises(MCPError, match="Unknown tool: nobody") as unknown:
            await client.call_tool("nobody", {"message": "Hi"})
        assert unknown.value.error.data["code"] == "agent_not_found"
        calling = asyncio.create_task(error_of(client, message="Talk"))
        [run] = await until_runs(home, "running")
        await home.ask("POST", f"/api/runs/{run['id']}/cancel", expect=202)
        assert await calling == ("cancelled", "run_cancelled")


@EACH_ERA
async def test_a_client_that_cancels_a_call_cancels_its_run(home: Home, mode: Mode) -> None:
    """B8: by closing the response, or by notifications/cancelled in the older era; the client goes on."""
    gate = asyncio.Event()
    home.model.script(Reply("word " * 40, gate=gate), Reply("Still here."))
    await home.create_agent(name="slow", memory="off")
    async with mcp_client(home.url, HEADERS, mode) as client:
        calling = asyncio.create_task(client.call_tool("slow", {"message": "Talk"}))
        await until_runs(home, "running")
        calling.cancel()
        await asyncio.wait((calling,))
        await until_runs(home, "cancelled")
        assert outcome(await client.call_tool("slow", {"message": "Hi"}))["answer"] == "Still here."
    assert home.gateway.hub.open_streams == 0


async def test_a_call_has_the_id_of_its_request(home: Home) -> None:
    """B8: the id a client gives its request is its run's, as over every door."""
    await home.create_agent(name="echo")
    call = {
        "name": "echo",
        "arguments": {"message": "Hi"},
        "_meta": {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"},
    }
    async with home.http.post(
        f"{home.url}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={"x-request-id": "from-outside"},
    ) as answer:
        assert (answer.status, answer.headers["x-request-id"]) == (200, "from-outside")
        assert (await answer.json())["result"]["structuredContent"]["status"] == "completed"
    [run] = await until_runs(home, "completed")
    assert run["request_id"] == "from-outside"


async def test_a_cancelled_call_is_the_one_its_caller_named(home: Home) -> None:
    """B8: notifications/cancelled ends the one call of this caller with this id; of two, neither is certain."""
    home.model.answer(lambda call: Reply("word " * 40, gate=asyncio.Event()))
    await home.create_agent(name="slow")

    async def call(agent: str, request_id: object) -> dict[str, Any]:
        arguments = {"name": "slow", "arguments": {"message": "Talk"}}
        async with home.http.post(
            f"{home.url}/mcp",
            json={"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": arguments},
            headers={"user-agent": agent, "accept": "application/json"},
        ) as answer:
            return json.loads(await answer.text())

    async def cancel(agent: str, request_id: object) -> None:
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
        async with home.http.post(f"{home.url}/mcp", json=note, headers={"user-agent": agent}) as answer:
            assert (answer.status, await answer.text()) == (202, "")

    calls = [asyncio.create_task(call("one", 1)), asyncio.create_task(call("two", 1))]
    calls += [asyncio.create_task(call("three", 7)), asyncio.create_task(call("three", 7))]
    await until_runs(home, "running", 4)
    for agent, request_id in (("three", 7), ("one", "1"), ("four", 1), ("one", None), ("one", 1)):
        await cancel(agent, request_id)
    assert (await calls[0])["error"] == {"code": -32800, "message": "The request was cancelled."}
    await until_runs(home, "running", 3)
    assert not any(other.done() for other in calls[1:])
    for other in calls[1:]:
        other.cancel()
    await asyncio.wait(calls)
