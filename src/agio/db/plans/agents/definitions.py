"""Definitions: the agent with its tools as a run pins it, so that a later edit changes no run under way (law 15)."""

import hashlib

import msgspec
from msgspec import structs

from agio.core.handoff import MAX_TEAM, Handoff
from agio.core.store.records import AgentFields, AgentRecord, AgentTool, definition_of
from agio.core.store.repository import RunInfo
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.agents import agent_of_run, agent_to_hand_over, with_tools
from agio.db.records import agent_tool, now_ms
from agio.db.rows import BlobRow, ToolRow, as_row

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(AgentRecord).decode
_KNOWN_AGENTS = 10_000


class KnownDefinitions:
    """Which definitions the store is known to have, so that not every run writes the same one again."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        """The newest definition of an agent, by the agent's id."""

    def has(self, agent: AgentRecord, digest: str) -> bool:
        """Whether an agent's definition is known to be stored."""
        return self._digests.get(agent.id) == digest

    def note(self, agent: AgentRecord, digest: str | None) -> None:
        """Take note that a commit has pinned a definition. Only those of inline agents are ever deleted."""
        if digest is not None and agent.source != "inline":
            if len(self._digests) >= _KNOWN_AGENTS:
                self._digests.clear()
            self._digests[agent.id] = digest


def pin(agent: AgentRecord, known: KnownDefinitions | None = None) -> Plan[str]:
    """Keep an agent's definition and return its digest. Equal definitions of an agent are one row."""
    body = _encode(_fixed(agent))
    digest = hashlib.sha256(body).hexdigest()
    if known is None or not known.has(agent, digest):
        yield from ask("put_definition", agent_id=agent.id, digest=digest, body=body, now=now_ms())
    return digest


def pinned(run: RunInfo) -> Plan[AgentRecord | None]:
    """The definition that a run pinned; None if it was not recorded, or was deleted with its agent."""
    if run.definition is None:
        return None
    row = yield from ask_one("get_definition", agent_id=run.agent_id, digest=run.definition)
    return None if row is None else _decode(as_row(BlobRow, row).data)


def agent_to_run(run: RunInfo) -> Plan[AgentRecord]:
    """The agent that a run has pinned, else the agent as it is now."""
    if (known := (yield from pinned(run))) is not None:
        return known
    return (yield from with_team((yield from agent_of_run(run.tenant, run.agent_id))))


def with_team(agent: AgentRecord) -> Plan[AgentRecord]:
    """Add the agents that handoffs can lead to, each once. Handoffs then name their agents.

    One to an agent that is not active, or beyond `MAX_TEAM`, leads to no agent of the team.
    """
    if not agent.handoffs:
        return agent
    known, waiting = {agent.id: agent}, [agent]
    while waiting:
        current = waiting.pop(0)
        handoffs: list[Handoff] = []
        for handoff in current.handoffs:
            other = yield from agent_to_hand_over(agent.tenant, handoff.agent)
            if other is None:
                handoffs.append(handoff)
                continue
            handoffs.append(structs.replace(handoff, agent=other.name))
            if other.id not in known and other.status == "active" and len(known) < MAX_TEAM:
                known[other.id] = yield from with_tools(other)
                waiting.append(known[other.id])
        known[current.id] = structs.replace(current, handoffs=handoffs)
    return structs.replace(known[agent.id], team=[each for each in known.values() if each.id != agent.id])


def changed(agent: AgentRecord, fields: AgentFields) -> Plan[AgentRecord]:
    """An agent with another definition. Its tools are looked up by their names."""
    own = {tool.name: tool for tool in agent.tools}
    tools: list[AgentTool] = []
    for tool in fields.tools:
        if (known := own.get(tool.name)) is None:
            row = yield from ask_one("agent_tool_by_name", tenant=agent.tenant, name=tool.name)
            known = tool if row is None else _undated(agent_tool(as_row(ToolRow, row)))
        tools.append(structs.replace(known, approval=tool.approval or known.approval))
    return structs.replace(agent, **definition_of(fields), tools=tools)


def _fixed(agent: AgentRecord) -> AgentRecord:
    """An agent and its team without times, which do not make another definition."""
    tools, team = list(map(_undated, agent.tools)), list(map(_fixed, agent.team))
    return structs.replace(agent, created_at=0, updated_at=0, tools=tools, team=team)


def _undated(tool: AgentTool) -> AgentTool:
    return structs.replace(tool, updated_at=0) if tool.updated_at else tool
