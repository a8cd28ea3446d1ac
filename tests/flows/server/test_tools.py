"""Tools of the gateway in runs, from the model to the store and back: a team's HTTP tools, profile and drafts."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from agio.protocol.codec import decode_lines
from agio.protocol.events import AgentEvent, ToolCallResult
from agio.protocol.messages import Json
from agio.testing import Call, Reply
from tests.flows.server.home import Home, every_home, open_home
from tests.flows.server.talk import SseTalk, open_talk
from tests.support.canary import Canary, answer_with, canary
from tests.support.served import LinkKind

SECRET = "sk-canary-0123456789"
WAIT_S = 60.0


@asynccontextmanager
async def open_shop(database: str | Path, link: LinkKind) -> AsyncGenerator[tuple[Home, Canary]]:
    """A server whose tools may call one canary."""
    async with canary() as bird, open_home(database, link, egress_allow=[f"127.0.0.1:{bird.port}"]) as home:
        yield home, bird


async def make_tool(home: Home, bird: Canary, **fields: object) -> str:
    """Make the HTTP tool `wire_money`, which has a secret header; returns its id."""
    body = {
        "name": "wire_money",
        "description": "Pay somebody.",
        "method": "POST",
        "url": f"{bird.url}/pay/{{to}}",
        "parameters": {
            "type": "object",
            "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}},
            "required": ["to", "amount"],
        },
        "headers": [{"name": "Authorization", "value": f"Bearer {SECRET}", "secret": True}],
        **fields,
    }
    return str((await home.ask("POST", "/api/agent-tools", body, expect=201))["id"])


def results(lines: list[bytes]) -> list[tuple[str, str | None]]:
    """What the tools of a run answered, with their codes."""
    found: list[AgentEvent] = decode_lines(b"".join(lines))
    return [
        (str(event.content), cast("dict[str, str]", event.metadata or {}).get("error"))
        for event in found
        if isinstance(event, ToolCallResult)
    ]


PAY = Reply(tool_calls=[Call("wire_money", {"to": "ann", "amount": 5})])


async def test_a_teams_http_tool_is_called_with_its_secret(database: str | Path, link: LinkKind) -> None:
    """C3: at the gateway, recorded as any other; neither the model nor the log sees the secret."""
    async with open_shop(database, link) as (home, bird):
        bird.answers["/pay/ann"] = answer_with(
            f'{{"paid": 5, "echo": "{SECRET}"}}'.encode(), kind="application/json"
        )
        await make_tool(home, bird)
        talk = await open_talk("sse", home, await home.create_agent(tools=["wire_money"]))
        home.model.script(PAY, Reply("Paid."))
        lines = await talk.say("Pay Ann 5")
        [(content, error)] = results(lines)
        assert ('"paid":5' in content, error) == (True, None)
        [call] = bird.calls
        assert call.headers["authorization"] == f"Bearer {SECRET}"
        assert (call.method, call.target, call.body) == ("POST", "/pay/ann", b'{"amount":5}')
        assert call.headers["idempotency-key"].startswith("call_")
        assert SECRET not in b"".join(lines).decode()
        assert SECRET not in str(home.model.calls)
        assert home.model.problems == []


async def test_an_http_tool_that_asks_is_called_when_a_person_approves(
    database: str | Path, link: LinkKind
) -> None:
    """C3: nothing goes out before; the assignment may ask where the tool does not."""
    async with open_shop(database, link) as (home, bird):
        await make_tool(home, bird)
        agent = await home.create_agent()
        await home.ask("PUT", f"/api/agents/{agent}/tools/wire_money", {"approval": "ask"})
        talk = await open_talk("sse", home, agent)
        home.model.script(PAY, Reply("Paid."))
        await talk.say("Pay Ann 5")
        assert bird.calls == []
        asked = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}/interrupts")
        [question] = cast("list[dict[str, str]]", asked["items"])
        lines = await talk.answer([{"interrupt_id": question["id"], "approved": True}])
        assert results(lines) == [("ok", None)]
        assert len(bird.calls) == 1


@every_home
async def test_a_call_that_must_happen_once_is_not_made_again_after_a_crash(
    database: str | Path, link: LinkKind
) -> None:
    """C3: the server stops while the call is under way; the model is told that its effect is unknown."""
    async with canary() as bird:
        asked, stopped = asyncio.Event(), asyncio.Event()

        async def hang(writer: asyncio.StreamWriter) -> None:
            asked.set()
            await stopped.wait()

        bird.answers["/pay/ann"] = hang
        allow = [f"127.0.0.1:{bird.port}"]
        async with open_home(database, link, egress_allow=allow) as home:
            await make_tool(home, bird)
            talk = await open_talk("sse", home, await home.create_agent(tools=["wire_money"]))
            home.model.script(PAY)
            path = f"/api/agent-sessions/{talk.session_id}"
            sent = await home.ask("POST", f"{path}/message", {"content": "Pay"}, expect=202)
            async with asyncio.timeout(WAIT_S):
                await asked.wait()
        stopped.set()
        bird.answers["/pay/ann"] = answer_with(b"paid twice")
        async with open_home(database, link, egress_allow=allow) as home:
            home.model.script(Reply("I do not know."))
            lines = await SseTalk(home, talk.session_id).read(str(sent["run_id"]))
            [(_, error)] = results(lines)
            assert error == "unknown"
        assert len(bird.calls) == 1


async def test_a_tool_that_is_deleted_during_a_run_says_what_is_missing(
    database: str | Path, link: LinkKind
) -> None:
    """C3: the claim's definition counts, but a secret that is gone is gone."""
    async with open_shop(database, link) as (home, bird):
        asked, go = asyncio.Event(), asyncio.Event()

        async def wait(writer: asyncio.StreamWriter) -> None:
            asked.set()
            await go.wait()
            writer.write(answer_with(b"paid"))
            await writer.drain()

        bird.answers["/pay/bob"] = wait
        tool_id = await make_tool(home, bird)
        talk = await open_talk("sse", home, await home.create_agent(tools=["wire_money"]))
        first = Reply(tool_calls=[Call("wire_money", {"to": "bob", "amount": 1})])
        home.model.script(first, PAY, Reply("It failed."))
        run = await talk.begin("Go")
        async with asyncio.timeout(WAIT_S):
            await asked.wait()
        await home.ask("DELETE", f"/api/agent-tools/{tool_id}", expect=204)
        go.set()
        paid, failed = results(await run)
        assert paid == ("paid", None)
        assert (failed[1], "Authorization" in failed[0]) == ("invalid_tool", True)
        assert len(bird.calls) == 1


async def test_what_is_noted_in_the_profile_is_known_in_the_next_run(
    database: str | Path, link: LinkKind
) -> None:
    """R11: the model notes something, and the next conversation's first request has it, delimited as untrusted."""
    async with open_home(database, link) as home:
        agent = await home.create_agent(tools=["update_profile"])
        first = await open_talk("sse", home, agent)
        noted: dict[str, Json] = {"changes": {"name": "Ada Lovelace", "language": "en"}}
        home.model.script(Reply(tool_calls=[Call("update_profile", noted)]), Reply("Noted."))
        await first.say("I am Ada Lovelace")
        assert "the user's profile" not in "\n".join(home.model.calls[0].texts())
        profile = await home.ask("GET", "/api/profile")
        assert profile["fields"] == {"name": "Ada Lovelace", "language": "en"}
        second = await open_talk("sse", home, agent)
        home.model.script(Reply("Hello Ada."))
        await second.say("Hi")
        request = "\n".join(home.model.calls[-1].texts())
        assert "memory: the user's profile" in request
        assert "Ada Lovelace" in request
        assert "<<untrusted" in request
        other = await open_talk("sse", home, await home.create_agent(tools=["clock"]))
        home.model.script(Reply("Hello."))
        await other.say("Hi")
        assert "Ada Lovelace" not in "\n".join(home.model.calls[-1].texts())


async def test_a_draft_is_stored_and_found_again(database: str | Path, link: LinkKind) -> None:
    """S12: a version for each call, read by REST; the model can ask what there is."""
    async with open_home(database, link) as home:
        agent = await home.create_agent(tools=["store_draft_content", "fetch_project_context"])
        talk = await open_talk("sse", home, agent)
        one: dict[str, Json] = {"key": "plan", "title": "A plan", "content": "# One"}
        two: dict[str, Json] = {"key": "plan", "title": "A plan", "content": {"steps": [1, 2]}}
        home.model.script(
            Reply(tool_calls=[Call("store_draft_content", one)]),
            Reply(tool_calls=[Call("store_draft_content", two)]),
            Reply(tool_calls=[Call("fetch_project_context", {})]),
            Reply("Stored."),
        )
        lines = await talk.say("Write a plan")
        first, second, context = (content for content, _ in results(lines))
        assert ('"version":1' in first, '"version":2' in second) == (True, True)
        assert '"key":"plan"' in context
        [draft] = cast("list[dict[str, object]]", (await home.ask("GET", "/api/drafts"))["items"])
        shown = await home.ask("GET", f"/api/drafts/{draft['id']}")
        assert (shown["content"], shown["session_id"]) == ({"steps": [1, 2]}, talk.session_id)
        old = await home.ask("GET", f"/api/drafts/{draft['id']}/versions/1")
        assert old["content"] == "# One"


async def test_the_page_a_client_shows_is_part_of_the_project(database: str | Path, link: LinkKind) -> None:
    """S12: what the run was begun with, from the store and not from the worker."""
    async with open_home(database, link) as home:
        agent = await home.create_agent(tools=["fetch_project_context"])
        home.model.script(Reply(tool_calls=[Call("fetch_project_context", {})]), Reply("Seen."))
        body: dict[str, object] = {
            "threadId": "t1",
            "runId": "r1",
            "messages": [{"id": "m1", "role": "user", "content": "What is this?"}],
            "tools": [],
            "context": [{"description": "open page", "value": "Invoice 7"}],
            "state": {},
            "forwardedProps": {},
        }
        async with home.http.post(f"{home.url}/api/agents/{agent}/ag-ui", json=body) as answer:
            text = await answer.text()
        assert '\\"page\\":[{\\"description\\":\\"open page\\",\\"value\\":\\"Invoice 7\\"}]' in text
