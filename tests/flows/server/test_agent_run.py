"""S8 in every home: one turn on the server, asked over HTTP and answered as one JSON object."""

import asyncio
from typing import cast

import pytest

from agio.protocol.frames import ends_run
from agio.testing import Call, HttpStatus, Reply
from agio.testing.faults import Stall
from tests.flows.server.home import Home
from tests.flows.server.test_files import PNG, digest, part, sent_images, text, upload
from tests.flows.server.tools import paid
from tests.support.clock import until
from tests.support.served import LinkKind

USAGE = {"input_tokens", "output_tokens", "total_tokens", "cached_input_tokens", "reasoning_tokens"}


@pytest.fixture
def link() -> LinkKind:
    """How the worker is linked is no matter here."""
    return "direct"


async def run(home: Home, expect: int = 200, **body: object) -> dict[str, object]:
    """Run an agent once."""
    return await home.ask("POST", "/api/agent/run", body, expect=expect)


async def test_a_turn_is_one_answer_with_segments_calls_and_tokens(home: Home) -> None:
    """S8: the shape, with reasoning and text in order, each call with its result, and what it used."""
    home.model.script(
        Reply("Let me add.", reasoning="A sum.", tool_calls=[Call("add", {"a": 1, "b": 2})]),
        Reply("It is 3."),
    )
    agent_id = await home.create_agent(name="Adder", tools=["add"], model_provider="openai")
    done = await run(home, agent="Adder", input="1 + 2?")
    assert set(done) == {"id", "session_id", "status", "output", "tool_calls", "usage"}
    assert done["status"] == "completed"
    assert done["output"] == [
        {"type": "reasoning", "text": "A sum."},
        {"type": "text", "text": "Let me add."},
        {"type": "text", "text": "It is 3."},
    ]
    assert done["tool_calls"] == [{"name": "add", "arguments": {"a": 1, "b": 2}, "result": "3"}]
    usage = cast("dict[str, int]", done["usage"])
    assert set(usage) == USAGE
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
    home.model.script(Reply("You asked for a sum."))
    again = await run(home, agent=agent_id, input=[text("What did I ask?")], session_id=done["session_id"])
    assert again["session_id"] == done["session_id"]
    assert again["output"] == [{"type": "text", "text": "You asked for a sum."}]
    assert again["tool_calls"] == []
    assert home.model.problems == []
    assert (await home.ask("GET", f"/api/runs/{done['id']}"))["status"] == "completed"


async def test_a_turn_may_have_context_and_files(home: Home) -> None:
    """S8: content parts are taken as in a message; context is shown to the model as nobody's word."""
    home.model.script(Reply("A picture."))
    await home.create_agent(name="Looker")
    given = [text("What is it?"), part("image", await upload(home, PNG))]
    context = [{"description": "page", "value": "The shop's cart"}]
    await run(home, agent="Looker", input=given, context=context)
    assert sent_images(home) == [digest(PNG)]
    assert any("The shop's cart" in value for value in home.model.calls[-1].texts())
    assert (await run(home, 404, agent="Looker", input=[part("image", "file_none")]))["error"]


async def test_a_run_that_fails_is_an_error_with_its_id(home: Home) -> None:
    """S8: a model's failure is a 502, a limit of ours a 422, with the run's id to look it up."""
    home.model.script(Reply(fault=HttpStatus(400)))
    await home.create_agent(name="Broken", max_steps=1, tools=["add"])
    failed = cast("dict[str, dict[str, object]]", await run(home, 502, agent="Broken", input="Hi"))["error"]
    details = cast("dict[str, str]", failed["details"])
    seen = await home.ask("GET", f"/api/runs/{details['run_id']}")
    assert (seen["status"], seen["error_code"]) == ("failed", failed["code"])
    home.model.script(Reply(tool_calls=[Call("add", {"a": 1, "b": 2})]))
    limited = await run(home, 422, agent="Broken", input="Hi", session_id=details["session_id"])
    assert cast("dict[str, object]", limited["error"])["code"] == "step_limit"


async def test_a_question_ends_the_turn_and_is_in_the_answer(home: Home) -> None:
    """S8: interrupted is no failure: the answer has what a person is asked, and nothing was done."""
    before = len(paid)
    home.model.script(Reply(tool_calls=[Call("pay", {"amount": 5})]))
    await home.create_agent(name="Payer", tools=["pay"])
    asked = await run(home, agent="Payer", input="Pay 5")
    assert asked["status"] == "interrupted"
    [question] = cast("list[dict[str, object]]", asked["interrupts"])
    assert asked["tool_calls"] == [{"name": "pay", "arguments": {"amount": 5}, "result": None}]
    assert len(paid) == before
    listed = await home.ask("GET", f"/api/agent-sessions/{asked['session_id']}/interrupts")
    assert [entry["id"] for entry in cast("list[dict[str, str]]", listed["items"])] == [question["id"]]


async def test_who_does_not_wait_to_the_end_finds_the_run_later(home: Home) -> None:
    """S8: after timeout_s the answer says that the run goes on, and it does."""
    go = asyncio.Event()
    home.model.script(Reply("word " * 40, gate=go))
    await home.create_agent(name="Slow")
    early = await run(home, 202, agent="Slow", input="Talk", timeout_s=0.2)
    assert early["status"] in ("queued", "running")
    go.set()
    assert await _end_of(home, str(early["session_id"])) == "completed"


async def test_who_leaves_does_not_stop_the_run(home: Home) -> None:
    """S8: a client that goes away while it waits costs the run nothing."""
    go = asyncio.Event()
    home.model.script(Reply("word " * 20, gate=go))
    await home.create_agent(name="Left")
    waiting = asyncio.ensure_future(run(home, agent="Left", input="Talk"))
    await home.model.wait_for_calls(1)
    waiting.cancel()
    await until(lambda: home.gateway.hub.open_streams == 0)
    go.set()
    [session] = cast("list[dict[str, str]]", (await home.ask("GET", "/api/agent-sessions"))["items"])
    assert await _end_of(home, session["id"]) == "completed"


async def test_a_turn_that_is_cancelled_answers_with_what_it_told_of_its_tokens(home: Home) -> None:
    """L12: the answer, which is read from the log, and the run's own record say the same."""
    home.model.script(Reply("word " * 40, fault=Stall(after_events=5)))
    await home.create_agent(name="Stopped", model_provider="anthropic")
    waiting = asyncio.ensure_future(run(home, agent="Stopped", input="Talk"))
    await home.model.wait_for_calls(1)
    [session] = cast("list[dict[str, str]]", (await home.ask("GET", "/api/agent-sessions"))["items"])
    async with home.gateway.hub.subscribe(session["id"], 0) as events, asyncio.timeout(60):
        while (piece := await events.next()) is not None and b"TEXT_MESSAGE" not in piece.events.payload:
            pass
    [begun] = cast("list[dict[str, str]]", (await home.ask("GET", "/api/runs"))["items"])
    await home.ask("POST", f"/api/runs/{begun['id']}/cancel", expect=202)
    done = await waiting
    usage = cast("dict[str, int]", done["usage"])
    known = await home.ask("GET", f"/api/runs/{begun['id']}")
    assert (done["status"], known["usage_partial"]) == ("cancelled", True)
    assert (usage["input_tokens"], usage["output_tokens"]) == (known["input_tokens"], known["output_tokens"])
    assert usage["input_tokens"] > 0


async def _end_of(home: Home, session_id: str) -> str:
    """Wait for the end of a session's newest run; its status."""
    async with home.gateway.hub.subscribe(session_id, 0) as events, asyncio.timeout(60):
        while (piece := await events.next()) is not None:
            if ends_run(piece.events.payload):
                break
    [run] = cast("list[dict[str, str]]", (await home.ask("GET", "/api/runs"))["items"])
    return run["status"]


async def test_the_same_key_is_the_same_turn(home: Home) -> None:
    """R3: a request that is sent again with its key is answered again, and run once."""
    home.model.script(Reply("Once."))
    await home.create_agent(name="Once")
    body = {"agent": "Once", "input": "Hi"}
    path, headers = home.url + "/api/agent/run", {"idempotency-key": "k1"}

    async def send(content: object) -> tuple[int, dict[str, object]]:
        async with home.http.post(path, json=content, headers=headers) as answer:
            return answer.status, await answer.json()

    answers = await asyncio.gather(*(send(body) for _ in range(4)))
    assert {status for status, _ in answers} == {200}
    assert len({str(answer) for _, answer in answers}) == 1
    assert len(home.model.calls) == 1
    status, refused = await send({**body, "input": "Other"})
    assert (status, cast("dict[str, object]", refused["error"])["code"]) == (422, "idempotency_conflict")


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        ({"agent": "Nobody", "input": "Hi"}, "agent_not_found", 404),
        ({"agent": "Known", "input": ""}, "empty_message", 422),
        ({"agent": "Known", "input": []}, "invalid_body", 422),
        ({"agent": "Known"}, "invalid_body", 422),
        ({"agent": "Known", "input": "Hi", "session_id": "ses_none"}, "session_not_found", 404),
        ({"agent": "Known", "input": "Hi", "timeout_s": 0}, "invalid_body", 422),
        ({"agent": "Known", "input": "Hi", "more": 1}, "invalid_body", 422),
        ({"agent": "Known", "input": "x" * 300_000}, "message_too_large", 413),
    ],
)
async def test_what_cannot_be_run_is_refused(
    home: Home, body: dict[str, object], code: str, status: int
) -> None:
    """S8: bad input has a code and begins nothing."""
    await home.create_agent(name="Known")
    refused = await run(home, status, **body)
    assert cast("dict[str, object]", refused["error"])["code"] == code
    assert home.model.calls == []


async def test_a_session_of_another_agent_is_not_this_ones(home: Home) -> None:
    """S8: agent and session must belong together."""
    agent_id = await home.create_agent(name="Mine")
    await home.create_agent(name="Other")
    session_id = await home.start_session(agent_id)
    refused = await run(home, 404, agent="Other", input="Hi", session_id=session_id)
    assert cast("dict[str, object]", refused["error"])["code"] == "session_not_found"
