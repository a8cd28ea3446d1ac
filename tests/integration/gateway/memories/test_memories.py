"""The routes of memories and suggestions: what they answer, who may do what, and what they refuse."""

import asyncio
from typing import Any

import httpx
import pytest

from agio.core.memory import MAX_CHARS, MemoryFields, MemorySource
from tests.support.house import AGENT, House, code_of, house, ids_of


async def _agent(client: httpx.AsyncClient, **fields: object) -> str:
    made = await client.post("/api/agents", json={**AGENT, **fields})
    assert made.status_code == 201, made.text
    return made.json()["id"]


async def _remember(client: httpx.AsyncClient, agent: str, content: str, **fields: object) -> dict[str, Any]:
    made = await client.post(
        f"/api/agents/{agent}/memories", json={"content": content, "memory_type": "fact", **fields}
    )
    assert made.status_code == 201, made.text
    return made.json()


async def _suggest(place: House, agent: str, content: str, **fields: Any) -> str:
    made = await place.store.suggest_memory(
        "default", "ann", agent, MemoryFields(content=content, **fields), MemorySource()
    )
    assert made is not None
    return made.id


async def test_memories_are_listed_searched_edited_and_deleted() -> None:
    """C5: content and type suffice; a search answers best first with a score; the audit log names no text."""
    async with house() as place, place.client() as client:
        agent = await _agent(client)
        path = f"/api/agents/{agent}/memories"
        rex = await _remember(client, agent, "Her dog is called Rex.")
        tea = await _remember(client, agent, "Prefers green tea.", memory_type="preference", importance=0.9)
        everywhere = await _remember(client, agent, "Lives in Bern.", scope="user", observed_at=1_000)
        assert (rex["memory_type"], rex["importance"], rex["access_count"]) == ("fact", 0.5, 0)
        assert everywhere["agent_id"] is None
        assert everywhere["observed_at"] == 1_000
        listed = (await client.get(path)).json()
        assert ids_of(listed["items"]) == [everywhere["id"], tea["id"], rex["id"]]
        paged = (await client.get(path, params={"limit": 2})).json()
        rest = (await client.get(path, params={"limit": 2, "after": paged["next"]})).json()
        assert ids_of([*paged["items"], *rest["items"]]) == ids_of(listed["items"])
        assert ids_of((await client.get(path, params={"type": "preference"})).json()["items"]) == [tea["id"]]
        [found] = (await client.get(path, params={"q": "what are the dogs named? Rex"})).json()["items"]
        assert found["id"] == rex["id"]
        assert found["score"] > 0
        for filters, expected in (({}, [everywhere, tea]), ({"scope": "user"}, [everywhere])):
            asked = await client.get("/api/me/memories", params={"q": "tea in Bern", **filters})
            assert sorted(ids_of(asked.json()["items"])) == sorted(each["id"] for each in expected)
        changed = await client.patch(
            f"/api/agent-memories/{rex['id']}", json={"content": "Her cat is called Tom.", "importance": 1.0}
        )
        assert changed.json()["content"] == "Her cat is called Tom."
        assert not (await client.get(path, params={"q": "dog"})).json()["items"]
        assert ids_of((await client.get(path, params={"q": "cats"})).json()["items"]) == [rex["id"]]
        assert (await client.delete(f"/api/agent-memories/{rex['id']}")).status_code == 204
        assert code_of(await client.get(f"/api/agent-memories/{rex['id']}")) == "memory_not_found"
        assert not (await client.get(path, params={"q": "cats"})).json()["items"]
        audit = await place.store.list_audit("default")
        actions = [entry.action for entry in audit.items if entry.action.startswith("memory.")]
        assert actions == ["memory.delete", "memory.update", *["memory.create"] * 3]
        assert "Rex" not in str(audit.items)


async def test_a_memory_is_seen_by_those_whose_it_is() -> None:
    """B6: another person of the team and another team see nothing; a team's memory is changed by builders only."""
    async with (
        house() as place,
        place.client() as ann,
        place.client("cid") as cid,
        place.client("bob") as bob,
    ):
        agent, other = await _agent(ann), await _agent(ann, name="Bea")
        mine = await _remember(ann, agent, "Is allergic to nuts.")
        ours = await _remember(ann, agent, "The shop closes at six.", scope="agent")
        for client, seen in ((ann, [ours["id"], mine["id"]]), (cid, [ours["id"]])):
            listed = await client.get(f"/api/agents/{agent}/memories")
            assert ids_of(listed.json()["items"]) == seen
            found = await client.get(f"/api/agents/{agent}/memories", params={"q": "nuts shop"})
            assert sorted(ids_of(found.json()["items"])) == sorted(seen)
        assert not (await ann.get(f"/api/agents/{other}/memories")).json()["items"]
        for client, seen in ((ann, [mine["id"]]), (cid, [])):
            found = await client.get("/api/me/memories", params={"q": "nuts shop"})
            assert ids_of(found.json()["items"]) == seen
        assert code_of(await bob.get(f"/api/agents/{agent}/memories")) == "agent_not_found"
        for stranger in (cid, bob):
            for call in (
                stranger.patch(f"/api/agent-memories/{mine['id']}", json={"content": "x"}),
                stranger.delete(f"/api/agent-memories/{mine['id']}"),
            ):
                assert code_of(await call) == "memory_not_found"
        made = await cid.post("/api/api-keys", json={"name": "chats only", "permissions": ["use"]})
        cid.headers["authorization"] = f"Bearer {made.json()['key']}"
        for refused in (
            cid.post(
                f"/api/agents/{agent}/memories", json={"content": "We close at nine.", "scope": "agent"}
            ),
            cid.patch(f"/api/agent-memories/{ours['id']}", json={"content": "We close at nine."}),
            cid.delete(f"/api/agent-memories/{ours['id']}"),
        ):
            assert code_of(await refused) == "forbidden"


async def test_a_memory_of_a_message_goes_with_its_chat() -> None:
    """B6: it names the message, of the caller's own chats only; deleting the chat deletes it."""
    async with house() as place, place.client() as ann, place.client("cid") as cid:
        session = await place.start_session(ann)
        agent = (await ann.get(f"/api/agent-sessions/{session}")).json()["agent_id"]
        run, _ = await place.begin(ann, session, "My dog is called Rex.")
        listed = (await ann.get(f"/api/agent-sessions/{session}")).json()["messages"]
        source = {"session_id": session, "message_id": listed[0]["id"]}
        rex = await _remember(ann, agent, "Her dog is called Rex.", source=source)
        assert (rex["session_id"], rex["run_id"], rex["message_id"]) == (session, run, listed[0]["id"])
        for client, wrong, code in (
            (ann, {**source, "message_id": "msg_none"}, "message_not_found"),
            (cid, source, "message_not_found"),
        ):
            body = {"content": "Not so.", "source": wrong}
            assert code_of(await client.post(f"/api/agents/{agent}/memories", json=body)) == code
        await ann.delete(f"/api/agent-sessions/{session}")
        assert code_of(await ann.get(f"/api/agent-memories/{rex['id']}")) == "memory_not_found"


async def test_a_suggestion_is_decided_once() -> None:
    """B6: two approvals at once make one memory; what was decided has no text, and is not suggested again."""
    async with house() as place, place.client() as client:
        agent = await _agent(client)
        first = await _suggest(place, agent, "Her birthday is on 3 May.")
        second = await _suggest(place, agent, "Hates phone calls.")
        listed = await client.get(f"/api/agents/{agent}/memory-suggestions")
        assert sorted(ids_of(listed.json()["items"])) == sorted([first, second])
        assert not (await client.get(f"/api/agents/{agent}/memories")).json()["items"]
        path = f"/api/memory-suggestions/{first}"
        edited = await client.post(f"{path}/edit", json={"content": "Her birthday is on 4 May."})
        assert edited.json()["content"] == "Her birthday is on 4 May."
        both = await asyncio.gather(client.post(f"{path}/approve"), client.post(f"{path}/approve"))
        assert sorted(each.status_code for each in both) == [200, 409]
        assert code_of(next(each for each in both if each.status_code == 409)) == "suggestion_closed"
        [memory] = (await client.get(f"/api/agents/{agent}/memories")).json()["items"]
        assert (memory["content"], memory["created_by"]) == ("Her birthday is on 4 May.", "ann")
        assert (await client.post(f"/api/memory-suggestions/{second}/reject")).status_code == 204
        assert code_of(await client.post(f"/api/memory-suggestions/{second}/approve")) == "suggestion_closed"
        again = await place.store.suggest_memory(
            "default", "ann", agent, MemoryFields(content="hates phone calls"), MemorySource()
        )
        assert again is None
        async with place.client("cid") as cid:
            assert code_of(await cid.post(f"{path}/approve")) == "suggestion_not_found"
        assert not (await client.get("/api/memory-suggestions")).json()["items"]


async def test_a_person_exports_and_forgets_what_is_remembered() -> None:
    """B6: the export has profile, memories and suggestions as JSON; forgetting removes them."""
    async with house() as place, place.client() as client:
        agent = await _agent(client)
        await client.patch("/api/profile", json={"changes": {"name": "Ann"}})
        memories = [await _remember(client, agent, f"Fact {number}.") for number in range(3)]
        await _suggest(place, agent, "Might like opera.")
        exported = (await client.get("/api/me/memories/export")).json()
        assert sorted(ids_of(exported["memories"])) == sorted(ids_of(memories))
        assert [each["content"] for each in exported["suggestions"]] == ["Might like opera."]
        assert exported["user"] == "ann"
        assert len((await client.get("/api/me/memories")).json()["items"]) == 3
        assert (await client.delete("/api/me/memories")).json() == {"memories": 3}
        exported = (await client.get("/api/me/memories/export")).json()
        assert (exported["memories"], exported["suggestions"]) == ([], [])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"content": "x" * 900_000}, "memory_too_large"),
        ({"content": "x" * (MAX_CHARS + 1)}, "memory_too_large"),
        ({"content": " \n"}, "memory_empty"),
        ({"content": "x" * 1_100_000}, "body_too_large"),
        ({"content": "x", "memory_type": "secret"}, "invalid_body"),
        ({"content": "x", "importance": 2}, "invalid_body"),
        ({}, "invalid_body"),
    ],
)
async def test_a_memory_that_does_not_do_is_refused(body: dict[str, object], code: str) -> None:
    """C5: a memory of a megabyte, an empty one, one of another kind."""
    async with house() as place, place.client() as client:
        agent = await _agent(client)
        assert code_of(await client.post(f"/api/agents/{agent}/memories", json=body)) == code


async def test_two_memories_never_say_the_same() -> None:
    """C5: the same text is the same memory, as it was said last; an edit that would repeat another is refused."""
    async with house() as place, place.client() as client:
        agent = await _agent(client)
        first = await _remember(client, agent, "Plays the cello.")
        assert (await _remember(client, agent, " plays the  cello "))["id"] == first["id"]
        again = await _remember(client, agent, "Plays the cello.", memory_type="preference", importance=0.9)
        assert (again["id"], again["memory_type"], again["importance"]) == (first["id"], "preference", 0.9)
        assert again["observed_at"] == first["observed_at"]
        second = await _remember(client, agent, "Plays the viola.", scope="user")
        path = f"/api/agent-memories/{second['id']}"
        assert code_of(await client.patch(path, json={"scope": "user_agent"})) == "memory_without_agent"
        third = await _remember(client, agent, "Plays the flute.")
        repeated = client.patch(f"/api/agent-memories/{third['id']}", json={"content": "Plays the cello."})
        assert code_of(await repeated) == "memory_exists"
