"""POST /api/tools/execute: a tool call outside a run, once for its key, whatever becomes of the caller."""

import asyncio
from pathlib import Path

import httpx
import pytest
from msgspec import structs

from agio.core.identity.principal import Principal
from agio.core.store.records import AgentTool
from agio.core.store.repository import ToolRecord
from agio.gateway.counters import Counters
from agio.gateway.tools.calls import Asked, ToolCalls
from tests.integration.gateway.workshop import SECRET, Workshop, held, workshop
from tests.support.canary import answer_with
from tests.support.engine import QUICK, soon
from tests.support.house import AGENT, code_of

WIEN = {"city": "Wien"}
OWNER = Principal("default", "local", "owner", "test")


async def test_a_tool_is_called_as_the_callers_user(tmp_path: Path) -> None:
    """S4: a built-in one and one of the team's; the result is typed."""
    async with workshop(tmp_path) as shop:
        await shop.make()
        weather = (await shop.execute("weather", WIEN)).json()
        assert set(weather) == {"id", "tool", "ok", "content", "error", "started_at", "duration_ms"}
        assert (weather["tool"], weather["ok"], weather["error"]) == ("weather", True, None)
        assert weather["content"] == '{"sky":"blue"}'
        assert shop.bird.last.headers["x-key"] == SECRET
        told = (await shop.execute("echo_context", {})).json()
        assert '"user":"local"' in told["content"]
        assert '"tenant":"default"' in told["content"]


async def test_what_is_wrong_with_a_call_is_a_result_as_in_a_run(tmp_path: Path) -> None:
    """S4: arguments that do not fit, and a tool that fails, are results with a code; 200."""
    async with workshop(tmp_path) as shop:
        await shop.make()
        wrong = await shop.execute("weather", {"town": "Wien"})
        assert wrong.status_code == 200
        assert (wrong.json()["ok"], wrong.json()["error"]["code"]) == (False, "bad_arguments")
        failed = (await shop.execute("calculator", {"expression": "1/0"})).json()
        assert failed["error"] == {"code": "tool_failed", "message": failed["content"]}
        assert shop.bird.calls == []


async def test_what_is_not_there_or_not_here_is_refused(tmp_path: Path) -> None:
    """S4: an unknown tool, a foreign session, a key that is none."""
    async with workshop(tmp_path) as shop:
        unknown = await shop.execute("nothing", {})
        assert (unknown.status_code, code_of(unknown)) == (404, "tool_not_found")
        session = await shop.execute("clock", {}, session_id="ses_1")
        assert (session.status_code, code_of(session)) == (404, "session_not_found")
        key = await shop.execute("clock", {}, key="no key")
        assert (key.status_code, code_of(key)) == (422, "invalid_query")


async def test_a_tool_that_asks_first_needs_the_word_of_the_person(tmp_path: Path) -> None:
    """S4: refused without it, done with it."""
    async with workshop(tmp_path) as shop:
        await shop.make(approval="ask")
        refused = await shop.execute("weather", WIEN)
        assert (refused.status_code, code_of(refused)) == (409, "approval_required")
        assert shop.bird.calls == []
        assert (await shop.execute("weather", WIEN, approved=True)).json()["ok"]


async def test_a_member_approves_only_calls_that_a_chat_of_theirs_could_ask_for(tmp_path: Path) -> None:
    """S4: a tool that no agent of the member's session has is a builder's to approve, as in a chat."""
    async with workshop(tmp_path) as shop:
        await shop.make(approval="ask")
        async with await shop.somebody("default", "mia", "member") as mia:
            sessions: list[str] = []
            for name, tools in (("with", ["weather"]), ("without", ["clock"])):
                made = await shop.client.post("/api/agents", json={**AGENT, "name": name, "tools": tools})
                begun = await mia.post(f"/api/agents/{made.json()['id']}/sessions", json={})
                sessions.append(begun.json()["id"])
            body = {"tool": "weather", "arguments": WIEN, "approved": True}
            for session_id in (None, sessions[1]):
                refused = await mia.post("/api/tools/execute", json={**body, "session_id": session_id})
                assert (refused.status_code, code_of(refused)) == (403, "forbidden")
            assert shop.bird.calls == []
            done = await mia.post("/api/tools/execute", json={**body, "session_id": sessions[0]})
            assert done.json()["ok"]


async def test_twenty_with_one_key_at_once_are_one_call(tmp_path: Path) -> None:
    """S4: one request goes out, all get its result, and so does whoever comes later."""
    async with workshop(tmp_path) as shop:
        await shop.make(effect="once")
        asked, go = await held(shop.bird, "/weather/Wien")
        calls = [asyncio.create_task(shop.execute("weather", WIEN, key="k1")) for _ in range(20)]
        await soon(asked.wait())
        go.set()
        answers = [answer.json() for answer in await soon(asyncio.gather(*calls))]
        assert all(answer == answers[0] for answer in answers)
        assert (await shop.execute("weather", WIEN, key="k1")).json() == answers[0]
        assert len(shop.bird.calls) == 1
        other = await shop.execute("weather", {"city": "Graz"}, key="k1")
        assert (other.status_code, code_of(other)) == (422, "idempotency_conflict")
        await shop.execute("weather", WIEN, key="k2")
        assert len(shop.bird.calls) == 2


async def test_a_call_goes_on_when_its_caller_goes(tmp_path: Path) -> None:
    """S4: the result is kept for whoever asks again with the key."""
    async with workshop(tmp_path) as shop:
        await shop.make(effect="once")
        asked, go = await held(shop.bird, "/weather/Wien")
        gone = asyncio.create_task(shop.execute("weather", WIEN, key="k1"))
        await soon(asked.wait())
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        go.set()
        again = (await soon(shop.execute("weather", WIEN, key="k1"))).json()
        assert (again["ok"], again["content"]) == (True, "done")
        assert len(shop.bird.calls) == 1


async def _lost_half_way(shop: Workshop, effect: str) -> None:
    """Stop the server's calls while one is under way, as a crash would: what is begun is in the store."""
    await shop.make(effect=effect)
    asked, go = await held(shop.bird, "/weather/Wien")
    call = asyncio.create_task(shop.execute("weather", WIEN, key="k1"))
    await soon(asked.wait())
    await soon(shop.server.gateway.tool_calls.close())
    refused = await soon(call)
    go.set()
    assert (refused.status_code, code_of(refused)) == (503, "store_closed")
    shop.bird.answers["/weather/Wien"] = answer_with(b"again")


async def test_a_call_that_must_happen_once_and_was_lost_is_unknown(tmp_path: Path) -> None:
    """S4: it is not done again, and everybody who asks is told so."""
    async with workshop(tmp_path) as shop:
        await _lost_half_way(shop, "once")
        for _ in range(2):
            told = (await shop.execute("weather", WIEN, key="k1")).json()
            assert (told["ok"], told["error"]["code"]) == (False, "unknown")
        assert len(shop.bird.calls) == 1


@pytest.mark.parametrize("effect", ["read", "idempotent"])
async def test_a_call_that_may_happen_again_and_was_lost_is_done_again(tmp_path: Path, effect: str) -> None:
    """S4: with the same id, which an upstream may know it by."""
    async with workshop(tmp_path) as shop:
        await _lost_half_way(shop, effect)
        told = (await shop.execute("weather", WIEN, key="k1")).json()
        assert (told["ok"], told["content"]) == (True, "again")
        first, second = shop.bird.calls
        assert first.headers.get("idempotency-key") == second.headers.get("idempotency-key")
        assert (told["id"] == second.headers.get("idempotency-key")) == (effect == "idempotent")


async def test_calls_in_a_session_go_with_it(tmp_path: Path) -> None:
    """S4: the record is deleted with the session it belongs to."""
    async with workshop(tmp_path) as shop:
        agent = (await shop.client.post("/api/agents", json=AGENT)).json()
        session = (await shop.client.post(f"/api/agents/{agent['id']}/sessions")).json()["id"]
        context = (await shop.execute("fetch_project_context", {}, session_id=session, key="k")).json()
        assert '"agent":"Ada"' in context["content"]
        await shop.client.delete(f"/api/agent-sessions/{session}")
        again = await shop.execute("fetch_project_context", {}, session_id=session, key="k")
        assert code_of(again) == "session_not_found"


async def test_calls_are_limited(tmp_path: Path) -> None:
    """S14: so many a minute, then 429 with a time to wait; tries count too."""
    async with workshop(tmp_path, structs.replace(QUICK, tool_calls_per_minute=3)) as shop:
        made = await shop.make()
        for _ in range(3):
            assert (await shop.execute("clock", {})).status_code == 200
        refused = await shop.execute("clock", {})
        assert (refused.status_code, code_of(refused)) == (429, "rate_limited")
        assert int(refused.headers["retry-after"]) >= 1
        tried = await shop.client.post(f"/api/agent-tools/{made['id']}/test", json={"arguments": WIEN})
        assert code_of(tried) == "rate_limited"
        assert shop.bird.calls == []


async def test_a_key_is_its_users_own(tmp_path: Path) -> None:
    """S14: the same key of somebody else is another call."""
    async with workshop(tmp_path) as shop:
        mine = (await shop.execute("echo_context", {}, key="k")).json()
        async with await shop.somebody("default", "mia", "member") as mia:
            headers = {"idempotency-key": "k"}
            theirs: httpx.Response = await mia.post(
                "/api/tools/execute", json={"tool": "echo_context"}, headers=headers
            )
            assert theirs.json()["id"] != mine["id"]
            assert '"user":"mia"' in theirs.json()["content"]


async def test_a_tool_whose_secret_is_gone_says_so(tmp_path: Path) -> None:
    """C3: nothing is sent without it."""
    async with workshop(tmp_path) as shop:
        made = await shop.make()
        definition = await shop.store.get_tool_definition("default", made["id"])
        without = structs.replace(definition.http, headers=[])
        await shop.store.update_tool_definition("default", made["id"], "weather", without, {})
        await shop.store.update_tool_definition("default", made["id"], "weather", definition.http, {})
        told = (await shop.execute("weather", WIEN)).json()
        assert (told["ok"], told["error"]["code"]) == (False, "invalid_tool")
        assert "X-Key" in told["content"]
        assert shop.bird.calls == []


async def test_a_secret_is_not_told_to_the_host_a_tool_called_before(tmp_path: Path) -> None:
    """C3: a run that began before the change still has the old address, and does not get the new secret."""
    async with workshop(tmp_path) as shop:
        made = await shop.make()
        before = await shop.store.get_tool_definition("default", made["id"])
        headers = [{"name": "X-Key", "secret": True, "value": "entered-for-another"}]
        moved = shop.tool(url="https://new.example.com/{city}", headers=headers)
        assert (await shop.client.put(f"/api/agent-tools/{made['id']}", json=moved)).status_code == 200
        held_by_run = AgentTool(before.name, None, before.id, before.http)
        asked = Asked(tool="weather", effect="read", arguments={"city": "Wien"}, team=held_by_run)
        told = await soon(shop.server.gateway.tool_calls.make(OWNER, asked))
        assert told.record.error == "invalid_tool"
        assert shop.bird.calls == []


async def test_a_repeat_at_another_gateway_waits_for_the_first(tmp_path: Path) -> None:
    """S4: a call that must happen once is not given up as unknown while somebody else makes it."""
    async with workshop(tmp_path) as shop:
        made = await shop.make(effect="once")
        kept = await shop.store.get_tool_definition("default", made["id"])
        gateway = shop.server.gateway
        elsewhere = ToolCalls(shop.store, gateway.rack, Counters(), 0.01)
        elsewhere.others = True
        team = AgentTool(kept.name, None, kept.id, kept.http)
        asked = Asked(tool="weather", effect="once", arguments={"city": "Wien"}, team=team, key="k1")
        called, go = await held(shop.bird, "/weather/Wien")
        first = asyncio.create_task(gateway.tool_calls.make(OWNER, asked))
        await soon(called.wait())
        second = asyncio.create_task(elsewhere.make(OWNER, asked))
        done, _ = await asyncio.wait([second], timeout=0.1)
        assert not done
        go.set()
        assert (await soon(second)) == (await soon(first))
        assert first.result().record == ToolRecord("done")
        assert len(shop.bird.calls) == 1
