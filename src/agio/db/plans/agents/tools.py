"""HTTP tools of a team, their assignment to agents, and tool calls outside runs."""

from collections.abc import Mapping

import msgspec

from agio.core.http_tool import HttpTool, ToolDefinition, ToolRequest, ToolRequestRecord, ToolUse
from agio.core.provider import Sealed, SecretPlace
from agio.core.store.repository import Approval, Effect, ToolRecord
from agio.db.plan import Plan, Row, ask, ask_one
from agio.db.plans.agents.agents import check_stored, get_agent, tool_id_of
from agio.db.plans.agents.secrets import delete_secret, delete_secrets_of, put_secrets, secrets_of
from agio.db.plans.runs.log import check_session
from agio.db.records import encode_json, http_tool, now_ms, pack_content, tool_record
from agio.db.refusals import changed_elsewhere, idempotency_conflict
from agio.db.rows import Columns, as_row, by_name, to_struct
from agio.errors import StoreError, UserError

MAX_TOOLS = 1000
"""How many HTTP tools a team may have."""


class _RequestRow(Columns, frozen=True):
    """`request_columns`, and the digest where it is selected."""

    id: str
    tool: str
    effect: Effect
    content: bytes | None
    error: str | None
    started_at: int
    ended_at: int | None
    digest: bytes = b""


def list_tool_definitions(tenant: str) -> Plan[list[ToolDefinition]]:
    """A tenant's HTTP tools, by name."""
    rows = yield from ask("list_tool_definitions", tenant=tenant)
    return [_definition(row) for row in rows]


def get_tool_definition(tenant: str, tool_id: str) -> Plan[ToolDefinition]:
    """Raises UserError `tool_not_found`."""
    row = yield from ask_one("get_tool_definition", tenant=tenant, tool_id=tool_id)
    if row is None:
        raise _tool_not_found(tool_id)
    return _definition(row)


def find_tool_definition(tenant: str, name: str) -> Plan[ToolDefinition | None]:
    """The HTTP tool with this name."""
    row = yield from ask_one("find_tool_definition", tenant=tenant, name=name)
    return None if row is None else _definition(row)


def create_tool_definition(
    tenant: str, tool_id: str, name: str, http: HttpTool, secrets: Mapping[str, Sealed]
) -> Plan[ToolDefinition]:
    """Raises UserError `tool_exists`, `too_many_tools`. Agents that were assigned the name get this tool."""
    yield from ask("lock_tenant", tenant=tenant)
    counted = yield from ask_one("count_http_tools", tenant=tenant)
    if counted is not None and msgspec.convert(counted[0], int) >= MAX_TOOLS:
        raise UserError("too_many_tools", f"A team has at most {MAX_TOOLS} HTTP tools: delete some first.")
    definition, now = encode_json("tool", http), now_ms()
    added = yield from ask_one(
        "add_http_tool", tool_id=tool_id, tenant=tenant, name=f" {tool_id}", definition=definition, now=now
    )  # a free placeholder: the name itself may be taken until the next step
    if added is None:
        raise StoreError("not_storable", f"The id {tool_id} is another tool's.")
    return (yield from _say(tenant, tool_id, name, http, secrets))


def update_tool_definition(
    tenant: str,
    tool_id: str,
    name: str,
    http: HttpTool,
    secrets: Mapping[str, Sealed],
    expected: int | None = None,
) -> Plan[ToolDefinition]:
    """Replace a tool. It keeps those of its secrets that `http` names and `secrets` does not.

    With `expected` only if that is still its version. Raises UserError `tool_not_found`, `tool_exists`,
    `changed_elsewhere`.
    """
    yield from ask("lock_tenant", tenant=tenant)
    before = yield from get_tool_definition(tenant, tool_id)
    if name != before.name:
        yield from ask("touch_agents_of_tool", tenant=tenant, tool_id=tool_id, now=now_ms())
    return (yield from _say(tenant, tool_id, name, http, secrets, expected))


def delete_tool_definition(tenant: str, tool_id: str) -> Plan[None]:
    """Remove a tool, its secrets, and take it from all agents. Raises UserError `tool_not_found`."""
    yield from ask("lock_tenant", tenant=tenant)
    yield from get_tool_definition(tenant, tool_id)
    yield from delete_secrets_of(tenant, tool_id)
    yield from ask("touch_agents_of_tool", tenant=tenant, tool_id=tool_id, now=now_ms())
    yield from ask("clear_assignments_of_tool", tenant=tenant, tool_id=tool_id)
    yield from ask("delete_tool", tenant=tenant, tool_id=tool_id)


def assign_tool(tenant: str, agent_id: str, name: str, approval: Approval | None) -> Plan[None]:
    """Assign a tool to an agent, or change its approval. Raises UserError `agent_not_found`, `agent_read_only`."""
    yield from ask("lock_tenant", tenant=tenant)
    check_stored((yield from get_agent(tenant, agent_id)))
    tool_id = yield from tool_id_of(tenant, name)
    yield from ask("put_assignment", agent_id=agent_id, tool_id=tool_id, approval=approval)
    yield from ask("touch_agent", tenant=tenant, agent_id=agent_id, now=now_ms())


def unassign_tool(tenant: str, agent_id: str, name: str) -> Plan[None]:
    """Remove a tool from an agent. Raises UserError `agent_not_found`, `agent_read_only`, `tool_not_assigned`."""
    yield from ask("lock_tenant", tenant=tenant)
    check_stored((yield from get_agent(tenant, agent_id)))
    gone = yield from ask_one("delete_assignment", tenant=tenant, agent_id=agent_id, name=name)
    if gone is None:
        raise UserError("tool_not_assigned", f"The agent has no tool {name!r}.", {"name": name})
    yield from ask("touch_agent", tenant=tenant, agent_id=agent_id, now=now_ms())


def list_tool_uses(tenant: str) -> Plan[list[ToolUse]]:
    """The tool assignments of a tenant, ordered by the agent's name."""
    rows = yield from ask("agents_of_tools", tenant=tenant)
    return [to_struct(ToolUse, row) for row in rows]


def begin_tool_request(tenant: str, user: str, request: ToolRequest) -> Plan[tuple[ToolRequestRecord, bool]]:
    """Record the start of a call, with true. For a known key return the known call, with false.

    Raises UserError `idempotency_conflict`, `session_not_found`.
    """
    if request.session_id is not None:
        yield from check_session(tenant, user, request.session_id)
    row = yield from ask_one(
        "begin_tool_request",
        request_id=request.id,
        tenant=tenant,
        user_id=user,
        session_id=request.session_id,
        key_hash=request.key_hash,
        digest=request.digest,
        tool=request.tool,
        effect=request.effect,
        now=now_ms(),
    )
    if row is not None:
        return _request(as_row(_RequestRow, row)), True
    known = yield from ask_one("find_tool_request", tenant=tenant, user_id=user, key_hash=request.key_hash)
    if known is None:
        raise StoreError("not_storable", f"The id {request.id} is another call's.")
    before = as_row(_RequestRow, known)
    if before.digest != request.digest:
        raise idempotency_conflict("key")
    return _request(before), False


def end_tool_request(
    tenant: str, user: str, request_id: str, record: ToolRecord
) -> Plan[ToolRequestRecord | None]:
    """Record the result of a call; the first result stays. None if the call was deleted."""
    who = {"tenant": tenant, "user_id": user, "request_id": request_id}
    content = pack_content(record)
    yield from ask("end_tool_request", content=content, error=record.error, now=now_ms(), **who)
    row = yield from ask_one("get_tool_request", **who)
    return None if row is None else _request(as_row(_RequestRow, row))


def _say(
    tenant: str,
    tool_id: str,
    name: str,
    http: HttpTool,
    secrets: Mapping[str, Sealed],
    expected: int | None = None,
) -> Plan[ToolDefinition]:
    """Write the definition, the name and the secrets of an existing tool."""
    yield from take_name(tenant, tool_id, name)
    definition = encode_json("tool", http)
    row = yield from ask_one(
        "change_http_tool",
        tool_id=tool_id,
        tenant=tenant,
        name=name,
        definition=definition,
        now=now_ms(),
        expected=expected,
    )
    if row is None:
        raise changed_elsewhere("tool")
    yield from put_secrets(tenant, tool_id, secrets)
    yield from _keep_secrets(
        tenant, tool_id, {http.field_of(header) for header in http.headers if header.secret}
    )
    created_at, updated_at = msgspec.convert(row, tuple[int, int])
    return ToolDefinition(
        id=tool_id, tenant=tenant, name=name, http=http, created_at=created_at, updated_at=updated_at
    )


def take_name(tenant: str, tool_id: str, name: str) -> Plan[None]:
    """Free a name: agents that were assigned the bare name get this tool. UserError `tool_exists`."""
    row = yield from ask_one("tool_by_name", tenant=tenant, name=name)
    other = None if row is None else row[0]
    if other is None or other == tool_id:
        return
    if (yield from ask_one("own_tool_by_name", tenant=tenant, name=name)) is not None:
        raise _tool_exists(name)
    yield from ask("inherit_assignments", tenant=tenant, tool_id=tool_id, other_tool=other)
    yield from ask("clear_assignments_of_tool", tenant=tenant, tool_id=other)
    yield from ask("delete_tool", tenant=tenant, tool_id=other)


def _keep_secrets(tenant: str, tool_id: str, fields: set[str]) -> Plan[None]:
    """Delete a tool's secrets except these."""
    for field in (yield from secrets_of(tenant, tool_id)).keys() - fields:
        yield from delete_secret(SecretPlace(tenant, tool_id, field))


def _definition(row: Row) -> ToolDefinition:
    values = by_name(ToolDefinition, row)
    values["http"] = http_tool(values["http"])
    return msgspec.convert(values, ToolDefinition)


def _request(row: _RequestRow) -> ToolRequestRecord:
    return ToolRequestRecord(
        id=row.id,
        tool=row.tool,
        effect=row.effect,
        record=tool_record(row.content, row.error),
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _tool_not_found(tool_id: str) -> UserError:
    return UserError("tool_not_found", f"There is no tool {tool_id}.", {"tool_id": tool_id})


def _tool_exists(name: str) -> UserError:
    return UserError("tool_exists", f"There is already a tool {name}.", {"name": name})
