"""Sessions that bring their own agent: one for each key of a user, hidden, and forgotten with the session."""

import asyncio

import pytest
from msgspec import structs

from agio.core.store.records import AgentTool
from agio.core.store.store import Store
from agio.errors import UserError
from tests.support.scenes import WORKER, agent_fields, answer, claim, person


async def test_the_same_key_is_the_same_session(store: Store) -> None:
    """S9: also for many who begin it at once; another user's key is another session."""
    ann, ben = await person(store), await person(store, "default", "ben")
    begun = await asyncio.gather(
        *(store.start_inline_session(ann.tenant, ann.user, "k", agent_fields(f"own {n}")) for n in range(5))
    )
    assert len({(found.session.id, found.agent.name) for found in begun}) == 1
    found = await store.find_inline_session(ann.tenant, ann.user, "k")
    assert (found.key, found.session.alias) == ("k", "k")
    assert found.agent.source == "inline"
    theirs = await store.start_inline_session(ben.tenant, ben.user, "k", agent_fields("own"))
    assert theirs.session.id != found.session.id
    assert theirs.agent.id != found.agent.id
    free = await store.start_inline_session(ann.tenant, ann.user, None, agent_fields("own"))
    assert free.key == free.session.id
    assert await store.find_inline_session(ann.tenant, ann.user, free.key) == free


async def test_nothing_else_finds_the_agent(store: Store) -> None:
    """S9: it has no name in the tenant, is in no list, and takes no other session."""
    ann = await person(store)
    found = await store.start_inline_session(ann.tenant, ann.user, "k", agent_fields("own"))
    assert (await store.list_agents(ann.tenant)).items == []
    assert (await store.list_agents(ann.tenant, search="own")).items == []
    assert await store.find_agent(ann.tenant, "own") is None
    named = await ann.agent("own")
    assert await store.find_agent(ann.tenant, "own") == named
    for refused in (
        store.get_agent(ann.tenant, found.agent.id),
        store.update_agent(ann.tenant, found.agent.id, agent_fields("mine")),
        store.delete_agent(ann.tenant, found.agent.id),
        store.start_session(ann.tenant, ann.user, found.agent.id),
    ):
        with pytest.raises(UserError) as error:
            await refused
        assert error.value.code == "agent_not_found"


async def test_the_agent_runs_as_it_is_described_last(store: Store) -> None:
    """S9: a run is claimed with the agent as it stands."""
    ann = await person(store)
    fields = agent_fields("own")
    found = await store.start_inline_session(ann.tenant, ann.user, "k", fields)
    await ann.send(found.session)
    changed = agent_fields("other", system_prompt="Anew.")
    again = await store.change_inline_agent(ann.tenant, ann.user, "k", changed)
    assert (again.session.id, again.agent.id) == (found.session.id, found.agent.id)
    claimed = await claim(store)
    assert (claimed.agent.name, claimed.agent.system_prompt) == ("other", "Anew.")
    with pytest.raises(UserError):
        await store.change_inline_agent(ann.tenant, "ben", "k", changed)


@pytest.mark.parametrize("at_once", [True, False])
async def test_tools_are_lent_as_the_team_has_them_when_a_run_begins(store: Store, at_once: bool) -> None:
    """S9, B7: what is taken from the agent of the name, or asks from now on, is so in sessions there are too."""
    ann = await person(store)
    given = agent_fields("own", tools=[AgentTool("clock"), AgentTool("echo")])
    agent = await store.create_agent(ann.tenant, given)
    found = await store.start_inline_session(ann.tenant, ann.user, "k", agent_fields("own"))

    async def lent() -> tuple[str, list[AgentTool]]:
        sent = await ann.send(found.session, claim=WORKER if at_once else None)
        claimed = sent.claimed or await claim(store)
        await answer(store, claimed)
        return claimed.agent.approval, claimed.agent.tools

    assert await lent() == ("tool", given.tools)
    strict = agent_fields("own", tools=[AgentTool("clock", "ask")], approval="ask")
    await store.update_agent(ann.tenant, agent.id, strict)
    assert await lent() == ("ask", strict.tools)
    await store.change_inline_agent(ann.tenant, ann.user, "k", agent_fields("nobody"))
    assert (await lent())[1] == []
    await store.change_inline_agent(ann.tenant, ann.user, "k", agent_fields("own"))
    await store.update_agent(ann.tenant, agent.id, structs.replace(strict, status="inactive"))
    assert (await lent())[1] == []


async def test_the_agent_is_forgotten_with_its_session(store: Store) -> None:
    """C5: deleting the session leaves none of its words; other agents stay when their sessions go."""
    ann = await person(store)
    fields = agent_fields("own", description="private", goal="secret", tools=[AgentTool("clock")])
    found = await store.start_inline_session(ann.tenant, ann.user, "k", fields)
    agent = await ann.agent("helper", tools=[AgentTool("clock")])
    session = await ann.session(agent)
    await store.delete_session(ann.tenant, ann.user, found.session.id)
    await store.delete_session(ann.tenant, ann.user, session.id)
    assert await store.get_agent(ann.tenant, agent.id) == agent
    with pytest.raises(UserError) as gone:
        await store.find_inline_session(ann.tenant, ann.user, "k")
    assert gone.value.code == "session_not_found"
    with pytest.raises(UserError) as buried:
        await store.start_inline_session(ann.tenant, ann.user, "k", fields)
    assert buried.value.code == "session_deleted"
