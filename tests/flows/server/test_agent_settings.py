"""What a team says of an agent reaches its runs: the shape of its answer, its limits, and what it cost."""

import json
from asyncio import Event
from typing import cast

from agio.core.model import Usage
from agio.testing import Call, HttpStatus, Reply
from tests.flows.server.home import Home

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def run(home: Home, agent: str, expect: int = 200, text: str = "Go") -> dict[str, object]:
    """Run an agent once, and return the run as it is listed."""
    done = await home.ask("POST", "/api/agent/run", {"agent": agent, "input": text}, expect=expect)
    error = cast("dict[str, dict[str, str]]", done.get("error", {}))
    return await home.ask("GET", f"/api/runs/{done.get('id') or error['details']['run_id']}")


async def finished(home: Home, run_id: object) -> dict[str, object]:
    """The last event of a run."""
    async with home.http.get(f"{home.url}/api/runs/{run_id}/events") as answer:
        return cast("dict[str, object]", json.loads((await answer.read()).splitlines()[-1]))


async def test_an_answer_that_does_not_fit_the_schema_is_corrected(home: Home) -> None:
    """C2, L12: the model is told what is wrong, and what fits is the run's result."""
    agent = await home.create_agent(output_schema=SCHEMA)
    home.model.script(Reply('{"n": "three"}'), Reply('{"n": 3}'))
    ended = await run(home, agent)
    assert (ended["status"], ended["steps"]) == ("completed", 2)
    assert (await finished(home, ended["id"]))["result"] == {"n": 3}
    assert any("does not fit the required JSON schema" in text for text in home.model.calls[-1].texts())
    assert home.model.problems == []


async def test_an_answer_that_never_fits_fails_the_run(home: Home) -> None:
    """L12: after the corrections it may have, with what it used."""
    agent = await home.create_agent(output_schema=SCHEMA, model_name="priced")
    home.model.script(*[Reply("no", usage=Usage(input=100, output=50))] * 3)
    ended = await run(home, agent, 422)
    assert (ended["status"], ended["error_code"], ended["steps"]) == ("failed", "output_invalid", 3)
    assert (ended["input_tokens"], ended["output_tokens"]) == (300, 150)
    assert ended["cost"] == (300 * 2 + 150 * 10) / 1_000_000


async def test_a_run_ends_at_its_agents_time(home: Home) -> None:
    """L12, C6: the agent's own time for a run and for a turn, not the server's."""
    for limit, code, status in (
        ("run_timeout_s", "time_budget", 504),
        ("turn_timeout_s", "turn_timeout", 502),
    ):
        home.model.script(Reply("word " * 40, gate=Event()))
        ended = await run(home, await home.create_agent(limits={limit: 0.3}), status)
        assert (ended["status"], ended["error_code"]) == ("failed", code)


async def test_a_tool_is_stopped_at_its_agents_time(home: Home) -> None:
    """L12, C6: a tool of the worker's that does not say itself how long it may take."""
    agent = await home.create_agent(limits={"tool_timeout_s": 0.2}, tools=["wait"])
    home.model.script(Reply(tool_calls=[Call("wait", {})]), Reply("Too slow."))
    ended = await run(home, agent)
    async with home.http.get(f"{home.url}/api/runs/{ended['id']}/events") as answer:
        events = [json.loads(line) for line in (await answer.read()).splitlines()]
    results = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert [result["metadata"]["error"] for result in results] == ["tool_timeout"]


async def test_a_run_ends_when_its_agents_tokens_are_used(home: Home) -> None:
    """L12, C6: the tokens of all its model calls together."""
    agent = await home.create_agent(limits={"max_tokens": 1000}, tools=["add"])
    asked = Reply(tool_calls=[Call("add", {"a": 1, "b": 2})], usage=Usage(input=900, output=200))
    home.model.script(asked, Reply("Never asked."))
    ended = await run(home, agent, 422)
    assert (ended["error_code"], ended["steps"], ended["cost"]) == ("token_budget", 1, None)
    assert len(home.model.calls) == 1


async def test_an_agent_is_shown_so_much_of_the_conversation(home: Home) -> None:
    """L12: messages before the newest ones are left out."""
    agent = await home.create_agent(limits={"max_history_messages": 1, "compact_at_tokens": 0})
    session = await home.start_session(agent)
    for text in ("the first one", "the second one", "the third one"):
        home.model.script(Reply("Yes."))
        body = {"agent": agent, "session_id": session, "input": text}
        await home.ask("POST", "/api/agent/run", body)
    shown = " ".join(home.model.calls[-1].texts())
    assert "the third one" in shown
    assert "the first one" not in shown


async def test_every_end_of_a_run_says_what_it_cost(home: Home) -> None:
    """C8: completed and failed, with a price; the demo model costs nothing, and a model without a price says none."""
    agent = await home.create_agent(model_name="priced")
    home.model.script(
        Reply("Hi.", usage=Usage(input=1_000_000, output=100_000)), Reply(fault=HttpStatus(400))
    )
    done, failed = await run(home, agent), await run(home, agent, 502)
    assert (done["cost"], done["input_tokens"], done["output_tokens"]) == (3.0, 1_000_000, 100_000)
    assert (failed["status"], failed["cost"], failed["input_tokens"]) == ("failed", 0, 0)
    home.model.script(Reply("Hi."))
    assert (await run(home, await home.create_agent()))["cost"] is None
    demo = await home.create_agent(model_provider="demo", model_name="demo")
    free = await run(home, demo)
    assert (free["status"], free["cost"]) == ("completed", 0)
    listed = cast("list[dict[str, object]]", (await home.ask("GET", "/api/runs?limit=4"))["items"])
    assert [each["cost"] for each in listed] == [0, None, 0, 3.0]
