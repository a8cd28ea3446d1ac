"""Agents are kept per tenant, by name, alike on every store."""

import asyncio

import pytest

from agio.core.config import AgentLimits
from agio.core.store.records import AgentRecord, AgentTool
from agio.core.store.store import Store
from agio.errors import UserError
from agio.protocol.messages import Json
from tests.support.backends import begin, finish
from tests.support.scenes import agent_fields, person


async def test_an_agent_is_kept_as_it_was_given(store: Store) -> None:
    """C2: every field of an agent comes back, its tools in their order."""
    tools = [AgentTool("pay", "ask"), AgentTool("clock"), AgentTool("add", "never")]
    fields = agent_fields(
        "Ärger", description="d", goal="g", temperature=0.5, max_steps=3, approval="ask", tools=tools
    )
    made = await store.create_agent("default", fields)
    assert (made.name, made.goal, made.temperature, made.max_steps) == ("Ärger", "g", 0.5, 3)
    assert (made.tenant, made.source, made.status, made.approval) == ("default", "stored", "active", "ask")
    assert made.tools == tools
    assert await store.get_agent("default", made.id) == made


async def test_an_agents_schema_and_limits_come_back(store: Store) -> None:
    """C2: as they were given, also in lists; an update without them takes them away, and a status is looked for."""
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"é": {"type": "integer", "maximum": 2**63 - 1}},
    }
    limits = AgentLimits(run_timeout_s=1.5, max_tokens=10**9, max_history_messages=0)
    made = await store.create_agent("default", agent_fields("a", output_schema=schema, limits=limits))
    assert (made.output_schema, made.limits) == (schema, limits)
    other = await store.create_agent("default", agent_fields("b", status="inactive"))
    assert (await store.list_agents("default")).items == [made, other]
    assert (await store.list_agents("default", status="active")).items == [made]
    assert (await store.list_agents("default", status="inactive")).items == [other]
    assert (await store.list_agents("default", search="A", status="inactive")).items == []
    bare = await store.update_agent("default", made.id, agent_fields("a"))
    assert (bare.output_schema, bare.limits) == (None, None)


async def test_code_agents_with_a_schema_are_left_alone_while_they_are_the_same(store: Store) -> None:
    """C2: what a module says again changes nothing."""
    said = agent_fields("in-code", output_schema={"type": "string"}, limits=AgentLimits(tool_timeout_s=2))
    [first] = await store.put_code_agents("default", [said])
    assert await store.put_code_agents("default", [said]) == [first]


async def test_an_update_replaces_everything(store: Store) -> None:
    """C2: PUT leaves nothing of what was said before; the id stays."""
    made = await store.create_agent("default", agent_fields("a", goal="g", tools=[AgentTool("clock")]))
    changed = await store.update_agent("default", made.id, agent_fields("b", status="inactive"))
    assert (changed.id, changed.name, changed.goal, changed.tools) == (made.id, "b", None, [])
    assert changed.status == "inactive"
    assert await store.get_agent("default", made.id) == changed


async def test_a_name_is_taken_once_in_a_tenant(store: Store) -> None:
    """C1: (tenant, name) is unique, until the agent is deleted."""
    await person(store, "acme")
    first = await store.create_agent("default", agent_fields("a"))
    other = await store.create_agent("default", agent_fields("b"))
    await store.create_agent("acme", agent_fields("a"))
    with pytest.raises(UserError, match="agent_exists"):
        await store.create_agent("default", agent_fields("a"))
    with pytest.raises(UserError, match="agent_exists"):
        await store.update_agent("default", other.id, agent_fields("a"))
    await store.delete_agent("default", first.id)
    with pytest.raises(UserError, match="agent_not_found"):
        await store.get_agent("default", first.id)
    assert (await store.create_agent("default", agent_fields("a"))).id != first.id


async def test_agents_are_listed_by_name_and_searched(store: Store) -> None:
    """C2: pages meet without overlap; a search looks at name and description, whatever the case."""
    for name in ("delta", "alpha", "echo", "bravo", "charlie"):
        await store.create_agent("default", agent_fields(name, description=f"Über {name} 100%"))
    seen: list[str] = []
    after = None
    while True:
        page = await store.list_agents("default", after=after, limit=2)
        assert len(page.items) <= 2
        seen += [agent.name for agent in page.items]
        if (after := page.next) is None:
            break
    assert seen == ["alpha", "bravo", "charlie", "delta", "echo"]
    for search, names in {
        "LPH": ["alpha"],
        "über E": ["echo"],
        "ÜBER": seen,
        "%": seen,
        "0%": seen,
        "_": [],
        "\\": [],
    }.items():
        assert [agent.name for agent in (await store.list_agents("default", search=search)).items] == names


async def test_the_names_of_active_agents_are_listed_oldest_first(store: Store) -> None:
    """B8: an agent that is inactive, deleted or of another tenant is not named."""
    made = [await store.create_agent("default", agent_fields(name)) for name in ("delta", "alpha", "echo")]
    await store.create_agent("default", agent_fields("asleep", status="inactive"))
    await store.delete_agent("default", made[2].id)
    oldest = sorted(made[:2], key=lambda agent: (agent.created_at, agent.id))
    assert await store.name_agents("default") == [(agent.id, agent.name) for agent in oldest]
    assert await store.name_agents("elsewhere") == []


@pytest.mark.parametrize("cursor", ["", "x", "é", "WzFd", "bnVsbA"])
async def test_a_cursor_nobody_gave_is_refused(store: Store, cursor: str) -> None:
    """C2: a wrong cursor is the caller's mistake, in every list."""
    made = await person(store)
    session = await made.session()
    for attempt in (
        store.list_agents("default", after=cursor),
        store.list_sessions("default", "local", after=cursor),
        store.list_messages("default", "local", session.id, after=cursor),
    ):
        with pytest.raises(UserError, match="invalid_cursor"):
            await attempt


async def test_agents_of_a_module_are_put_beside_the_stored_ones(store: Store) -> None:
    """C2: agents in code are read-only, follow their module, and keep their id by name."""
    await store.create_agent("default", agent_fields("stored"))
    first = await store.put_code_agents("default", [agent_fields("a"), agent_fields("b")])
    again = await store.put_code_agents(
        "default", [agent_fields("b", goal="new", tools=[AgentTool("clock")]), agent_fields("c")]
    )
    assert [(agent.name, agent.source) for agent in again] == [("b", "code"), ("c", "code")]
    assert (again[0].id, again[0].goal, again[0].tools) == (first[1].id, "new", [AgentTool("clock")])
    assert (await store.get_agent("default", first[0].id)).status == "inactive"
    back = await store.put_code_agents("default", [agent_fields("a"), *([again[0]])])
    assert (back[0].id, back[0].status, back[1]) == (first[0].id, "active", again[0])
    for attempt in (
        store.update_agent("default", back[0].id, agent_fields("a")),
        store.delete_agent("default", back[0].id),
    ):
        with pytest.raises(UserError, match="agent_read_only"):
            await attempt
    with pytest.raises(UserError, match="agent_exists"):
        await store.put_code_agents("default", [agent_fields("d"), agent_fields("stored")])
    names = [agent.name for agent in (await store.list_agents("default")).items]
    assert names == ["a", "b", "c", "stored"]


async def test_a_programs_agent_is_listed_and_not_served(store: Store) -> None:
    """C2: a run of a program without a server adds its agent, which takes no messages; its module may take the name."""
    await begin(store, "r1", agent="mine")
    await finish(store, "r1", 1)
    [agent] = (await store.list_agents("default")).items
    assert (agent.name, agent.source, agent.status) == ("mine", "library", "inactive")
    with pytest.raises(UserError, match="agent_inactive"):
        await store.start_session("default", "local", agent.id)
    [taken] = await store.put_code_agents("default", [agent_fields("mine")])
    assert (taken.id, taken.source, taken.status) == (agent.id, "code", "active")


async def test_an_agent_of_another_tenant_is_not_there(store: Store) -> None:
    """C2: a foreign id is not found, whatever is asked of it."""
    await person(store, "acme")
    made = await store.create_agent("default", agent_fields("a"))
    for attempt in (
        store.get_agent("acme", made.id),
        store.update_agent("acme", made.id, agent_fields("b")),
        store.delete_agent("acme", made.id),
        store.start_session("acme", "local", made.id),
    ):
        with pytest.raises(UserError, match="agent_not_found"):
            await attempt
    assert (await store.list_agents("acme")).items == []
    assert await store.get_agent("default", made.id) == made


async def test_of_many_who_save_one_version_one_wins(store: Store) -> None:
    """C2: the others are refused and change nothing; whoever names no version, or the newest, is not."""
    made = await store.create_agent("default", agent_fields("a", tools=[AgentTool("clock")]))
    saves = [
        store.update_agent(
            "default", made.id, agent_fields(f"a{who}", tools=[AgentTool("add")]), made.updated_at
        )
        for who in range(20)
    ]
    told = await asyncio.gather(*saves, return_exceptions=True)
    [won] = [each for each in told if isinstance(each, AgentRecord)]
    assert {each.code for each in told if isinstance(each, UserError)} == {"changed_elsewhere"}
    assert await store.get_agent("default", made.id) == won
    again = await store.update_agent("default", made.id, agent_fields("b"), won.updated_at)
    assert made.updated_at < won.updated_at < again.updated_at
    assert (await store.update_agent("default", made.id, agent_fields("c"))).updated_at > again.updated_at


async def test_a_tool_that_is_given_makes_another_version_of_the_agent(store: Store) -> None:
    """C3: whoever saves what they read before would take it away again."""
    made = await store.create_agent("default", agent_fields("a"))
    await store.assign_tool("default", made.id, "clock", None)
    with pytest.raises(UserError, match="changed_elsewhere"):
        await store.update_agent("default", made.id, agent_fields("a"), made.updated_at)
    assert [tool.name for tool in (await store.get_agent("default", made.id)).tools] == ["clock"]
