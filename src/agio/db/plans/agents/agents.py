"""Agents and the tools they are given."""

from collections.abc import Sequence

from msgspec import structs

from agio.core.handoff import Handoff
from agio.core.memory import INDEXING
from agio.core.store.jobs import NewJob
from agio.core.store.records import AgentFields, AgentRecord, AgentSource, AgentStatus, AgentTool, Page
from agio.db.cursors import page_of, page_size, pattern_of, read_cursor
from agio.db.plan import Plan, Row, ask, ask_one
from agio.db.plans.jobs.jobs import arm_job
from agio.db.records import agent_record, agent_tool, agent_values, now_ms
from agio.db.refusals import agent_not_found, changed_elsewhere
from agio.db.rows import ToolRow, as_row
from agio.errors import UserError
from agio.protocol.ids import new_id


def list_agents(
    tenant: str,
    *,
    search: str | None = None,
    status: AgentStatus | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Plan[Page[AgentRecord]]:
    """A tenant's agents by name. `search` is a part of the name or description. UserError `invalid_cursor`."""
    name = "" if after is None else read_cursor(after, tuple[str])[0]
    page = {"tenant": tenant, "status": status, "after": name, "limit": page_size(limit) + 1}
    if (pattern := pattern_of(search)) is not None:
        rows = yield from ask("search_agents", pattern=pattern, **page)
    else:
        rows = yield from ask("list_agents", **page)
    agents = [agent_record(row) for row in rows]
    tools = yield from _tools_of(tenant, agents)
    return page_of(
        agents,
        limit,
        lambda agent: structs.replace(agent, tools=tools.get(agent.id, [])),
        lambda agent: [agent.name],
    )


def name_agents(tenant: str) -> Plan[list[tuple[str, str]]]:
    """The ids and names of a tenant's active agents, oldest first."""
    rows = yield from ask("name_agents", tenant=tenant)
    return [(str(agent_id), str(name)) for agent_id, name in rows]


def get_agent(tenant: str, agent_id: str) -> Plan[AgentRecord]:
    """Raises UserError `agent_not_found`."""
    row = yield from ask_one("get_agent", tenant=tenant, agent_id=agent_id)
    if row is None:
        raise agent_not_found(agent_id)
    return (yield from _with_tools(tenant, row))


def agent_of_run(tenant: str, agent_id: str) -> Plan[AgentRecord]:
    """The agent of an existing run, also after the agent was deleted."""
    row = yield from ask_one("agent_of_run", tenant=tenant, agent_id=agent_id)
    if row is None:
        raise agent_not_found(agent_id)
    return (yield from with_tools(agent_record(row)))


def with_tools(agent: AgentRecord) -> Plan[AgentRecord]:
    """Add an agent's tools. An inline agent has the tools of the active agent of the same name."""
    if agent.source == "inline":
        known = yield from agent_named(agent.tenant, agent.name)
        if known is None or known.status != "active":
            return agent
        return structs.replace(agent, tools=known.tools, approval=known.approval)
    tools = yield from ask("tools_of_agents", tenant=agent.tenant, agent_ids=[agent.id])
    return structs.replace(agent, tools=[agent_tool(as_row(ToolRow, tool)) for tool in tools])


def agent_named(tenant: str, name: str) -> Plan[AgentRecord | None]:
    """The agent with this name."""
    row = yield from ask_one("agent_by_name", tenant=tenant, name=name)
    return None if row is None else (yield from _with_tools(tenant, row))


def agent_to_hand_over(tenant: str, name_or_id: str) -> Plan[AgentRecord | None]:
    """The agent that a handoff names, without its tools."""
    row = yield from ask_one("get_agent", tenant=tenant, agent_id=name_or_id)
    if row is None:
        row = yield from ask_one("agent_by_name", tenant=tenant, name=name_or_id)
    agent = None if row is None else agent_record(row)
    return agent if agent is not None and agent.source in ("stored", "code") else None


def put_inline_agent(tenant: str, agent_id: str, fields: AgentFields) -> Plan[None]:
    """Create or replace a session's inline agent; its tools are looked up when it runs."""
    values = _values(tenant, agent_id, fields, "inline")
    if (yield from ask_one("add_agent", **values)) is None:
        yield from ask("revive_inline_agent", tenant=tenant, agent_id=agent_id, now=now_ms())
        yield from ask("update_agent", expected=None, **values)


def forget_inline_agent(tenant: str, agent_id: str) -> Plan[None]:
    """Clear the definition of an inline agent; other agents are not changed."""
    forgotten = yield from ask_one("forget_inline_agent", tenant=tenant, agent_id=agent_id, now=now_ms())
    if forgotten is not None:
        yield from ask("delete_definitions", agent_id=agent_id)


def create_agent(tenant: str, fields: AgentFields) -> Plan[AgentRecord]:
    """Add an agent. Raises UserError `agent_exists` if the name is taken in the tenant."""
    if fields.tools:
        yield from ask("lock_tenant", tenant=tenant)
    return (yield from _add(tenant, (yield from _linked(tenant, fields)), "stored"))


def update_agent(
    tenant: str, agent_id: str, fields: AgentFields, expected: int | None = None
) -> Plan[AgentRecord]:
    """Replace an agent's definition; with `expected` only if that is still its version.

    Raises UserError `agent_not_found`, `agent_exists`, `agent_read_only`, `changed_elsewhere`.
    """
    yield from ask("lock_tenant", tenant=tenant)
    check_stored((yield from get_agent(tenant, agent_id)))
    named = yield from ask_one("agent_by_name", tenant=tenant, name=fields.name)
    if named is not None and agent_record(named).id != agent_id:
        raise _agent_exists(fields.name)
    if fields.search_conversations:
        yield from arm_job(NewJob(kind=INDEXING, key=agent_id, tenant=tenant))
    return (
        yield from _replace(
            tenant, agent_id, (yield from _linked(tenant, fields, agent_id)), "stored", expected
        )
    )


def delete_agent(tenant: str, agent_id: str) -> Plan[None]:
    """Remove an agent; its sessions stay readable. Raises UserError `agent_not_found`, `agent_read_only`."""
    check_stored((yield from get_agent(tenant, agent_id)))
    yield from ask("delete_agent", tenant=tenant, agent_id=agent_id, now=now_ms())


def put_code_agents(tenant: str, agents: Sequence[AgentFields]) -> Plan[list[AgentRecord]]:
    """Replace the agents with source `code` by these, matched by name; the others become inactive.

    Raises UserError `agent_exists` if a stored agent has one of the names.
    """
    yield from ask("lock_tenant", tenant=tenant)
    records: list[AgentRecord] = []
    for fields in agents:
        row = yield from ask_one("agent_by_name", tenant=tenant, name=fields.name)
        if row is None:
            records.append((yield from _add(tenant, fields, "code")))
            continue
        known = yield from _with_tools(tenant, row)
        if known.source == "stored":
            raise _agent_exists(fields.name)
        if known.source == "code" and _says(known, fields):
            records.append(known)
        else:
            records.append((yield from _replace(tenant, known.id, fields, "code")))
    kept = {record.id for record in records}
    for (agent_id,) in (yield from ask("list_code_agents", tenant=tenant)):
        if agent_id not in kept:
            yield from ask("retire_agent", tenant=tenant, agent_id=agent_id, now=now_ms())
    return records


def library_agent(tenant: str, name: str, model: str) -> Plan[str]:
    """The id of a program's own agent, which is added if it does not exist. Only that program runs it."""
    row = yield from ask_one("agent_by_name", tenant=tenant, name=name)
    if row is None:
        fields = AgentFields(
            name=name, system_prompt="", model_provider="", model_name=model, status="inactive"
        )
        yield from ask("add_agent", **_values(tenant, new_id("agt"), fields, "library"))
        row = yield from ask_one("agent_by_name", tenant=tenant, name=name)
    if row is None:
        raise agent_not_found(name)
    return agent_record(row).id


def _linked(tenant: str, fields: AgentFields, agent_id: str = "") -> Plan[AgentFields]:
    """The fields with the ids of the agents that handoffs name. Raises UserError `invalid_handoff`."""
    handoffs: list[Handoff] = []
    for handoff in fields.handoffs:
        other = yield from agent_to_hand_over(tenant, handoff.agent)
        if handoff.agent == fields.name or (other is not None and other.id == agent_id):
            raise UserError(
                "invalid_handoff", "An agent cannot hand over to itself.", {"agent": handoff.agent}
            )
        if other is None:
            gone = yield from ask_one("agent_of_run", tenant=tenant, agent_id=handoff.agent)
            words = (
                f"{agent_record(gone).name} was deleted." if gone else f"There is no agent {handoff.agent}."
            )
            raise UserError("invalid_handoff", words, {"agent": handoff.agent})
        if any((each.agent, each.mode) == (other.id, handoff.mode) for each in handoffs):
            raise UserError("invalid_handoff", f"{other.name} is listed twice.", {"agent": handoff.agent})
        handoffs.append(structs.replace(handoff, agent=other.id))
    return structs.replace(fields, handoffs=handoffs)


def _add(tenant: str, fields: AgentFields, source: AgentSource) -> Plan[AgentRecord]:
    agent_id = new_id("agt")
    added = yield from ask_one("add_agent", **_values(tenant, agent_id, fields, source))
    if added is None:
        raise _agent_exists(fields.name)
    yield from _assign(tenant, agent_id, fields.tools)
    return (yield from get_agent(tenant, agent_id))


def _replace(
    tenant: str, agent_id: str, fields: AgentFields, source: AgentSource, expected: int | None = None
) -> Plan[AgentRecord]:
    values = _values(tenant, agent_id, fields, source)
    if (yield from ask_one("update_agent", expected=expected, **values)) is None:
        raise changed_elsewhere("agent")
    yield from ask("clear_assignments", tenant=tenant, agent_id=agent_id)
    yield from _assign(tenant, agent_id, fields.tools)
    return (yield from get_agent(tenant, agent_id))


def _values(tenant: str, agent_id: str, fields: AgentFields, source: AgentSource) -> dict[str, object]:
    return {**agent_values(fields), "tenant": tenant, "agent_id": agent_id, "source": source, "now": now_ms()}


def _assign(tenant: str, agent_id: str, tools: Sequence[AgentTool]) -> Plan[None]:
    for idx, tool in enumerate(tools):
        tool_id = yield from tool_id_of(tenant, tool.name)
        yield from ask("add_assignment", agent_id=agent_id, tool_id=tool_id, idx=idx, approval=tool.approval)


def tool_id_of(tenant: str, name: str) -> Plan[str]:
    """The id of the tenant's tool with this name, which is added if it does not exist."""
    found = yield from ask_one("tool_by_name", tenant=tenant, name=name)
    if found is None:
        yield from ask("add_tool", tool_id=new_id("tool"), tenant=tenant, name=name, now=now_ms())
        found = yield from ask_one("tool_by_name", tenant=tenant, name=name)
    if found is None:
        raise UserError("tool_not_found", f"There is no tool {name}.", {"name": name})
    return str(found[0])


def _with_tools(tenant: str, row: Row) -> Plan[AgentRecord]:
    agent = agent_record(row)
    tools = yield from _tools_of(tenant, [agent])
    return structs.replace(agent, tools=tools.get(agent.id, []))


def _tools_of(tenant: str, agents: Sequence[AgentRecord]) -> Plan[dict[str, list[AgentTool]]]:
    """The tools of agents, by the agent's id."""
    tools: dict[str, list[AgentTool]] = {}
    if agents:
        ids = [agent.id for agent in agents]
        for row in (yield from ask("tools_of_agents", tenant=tenant, agent_ids=ids)):
            tool = as_row(ToolRow, row)
            tools.setdefault(tool.agent_id, []).append(agent_tool(tool))
    return tools


def _says(record: AgentRecord, fields: AgentFields) -> bool:
    """Whether an agent has this definition; tools are compared by name and approval."""
    given = [(tool.name, tool.approval) for tool in fields.tools]
    said = structs.asdict(structs.replace(fields, tools=[]))
    return given == [(tool.name, tool.approval) for tool in record.tools] and all(
        getattr(record, name) == value for name, value in said.items() if name != "tools"
    )


def check_stored(record: AgentRecord) -> None:
    """Raise UserError `agent_read_only` for an agent that is defined in Python."""
    if record.source != "stored":
        raise UserError(
            "agent_read_only",
            f"The agent {record.name} is defined in Python: change it there.",
            {"agent_id": record.id},
        )


def _agent_exists(name: str) -> UserError:
    return UserError("agent_exists", f"There is already an agent {name}.", {"name": name})
