"""MCP servers of a team and their tools. What agents have of a tool is derived and kept in agent_tools."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import structs

from agio.core.mcp import (
    MAX_SERVERS,
    McpOffer,
    McpServer,
    McpServerFields,
    McpToolChoice,
    McpToolRecord,
    definition_of,
)
from agio.core.provider import Sealed, SecretPlace
from agio.db.plan import Plan, Row, ask, ask_one
from agio.db.plans.agents.agents import check_stored, get_agent
from agio.db.plans.agents.secrets import delete_secret, delete_secrets_of, put_secrets, secrets_of
from agio.db.plans.agents.tools import take_name
from agio.db.records import encode_json, now_ms
from agio.db.refusals import changed_elsewhere
from agio.db.rows import Columns, as_row
from agio.errors import UserError
from agio.protocol.ids import new_id

_decode_fields = msgspec.json.Decoder(McpServerFields).decode
_decode_offer = msgspec.json.Decoder(McpOffer).decode
_decode_choice = msgspec.json.Decoder(McpToolChoice).decode


class _ServerRow(Columns, frozen=True):
    """`mcp_server_columns`."""

    id: str
    tenant: str
    name: str
    definition: bytes
    created_at: int
    updated_at: int


class _ToolRow(Columns, frozen=True):
    """`mcp_tool_columns`."""

    id: str
    server_id: str
    remote: str
    tool: str
    offered: bytes | None
    accepted: bytes | None
    choice: bytes
    seen_at: int


def list_mcp_servers(tenant: str) -> Plan[list[McpServer]]:
    """A tenant's servers, by name."""
    return [_server(row) for row in (yield from ask("list_mcp_servers", tenant=tenant))]


def get_mcp_server(tenant: str, server_id: str) -> Plan[McpServer]:
    """Raises UserError `mcp_server_not_found`."""
    row = yield from ask_one("get_mcp_server", tenant=tenant, server_id=server_id)
    if row is None:
        raise UserError(
            "mcp_server_not_found", f"There is no MCP server {server_id}.", {"server_id": server_id}
        )
    return _server(row)


def create_mcp_server(
    tenant: str, server_id: str, fields: McpServerFields, secrets: Mapping[str, Sealed]
) -> Plan[McpServer]:
    """Raises UserError `mcp_server_exists`, `too_many_mcp_servers`."""
    yield from ask("lock_tenant", tenant=tenant)
    counted = yield from ask_one("count_mcp_servers", tenant=tenant)
    if counted is not None and msgspec.convert(counted[0], int) >= MAX_SERVERS:
        raise UserError(
            "too_many_mcp_servers", f"A team has at most {MAX_SERVERS} MCP servers: delete some first."
        )
    if (yield from ask_one("add_mcp_server", **_values(tenant, server_id, fields))) is None:
        raise _exists(fields.name)
    yield from put_secrets(tenant, server_id, secrets)
    return (yield from get_mcp_server(tenant, server_id))


def update_mcp_server(
    tenant: str,
    server_id: str,
    fields: McpServerFields,
    secrets: Mapping[str, Sealed],
    expected: int | None = None,
) -> Plan[McpServer]:
    """Raises UserError `mcp_server_not_found`, `mcp_server_exists`, `changed_elsewhere`."""
    yield from ask("lock_tenant", tenant=tenant)
    before = yield from get_mcp_server(tenant, server_id)
    named = yield from ask_one("find_mcp_server", tenant=tenant, name=fields.name)
    if named is not None and _server(named).id != server_id:
        raise _exists(fields.name)
    values = _values(tenant, server_id, fields)
    if (yield from ask_one("update_mcp_server", expected=expected, **values)) is None:
        raise changed_elsewhere("MCP server")
    if (before.url, before.auth, before.oauth) != (fields.url, fields.auth, fields.oauth):
        yield from forget_connections(tenant, server_id)
    yield from put_secrets(tenant, server_id, secrets)
    for field in (yield from secrets_of(tenant, server_id)).keys() - set(fields.secret_fields):
        yield from delete_secret(SecretPlace(tenant, server_id, field))
    server = yield from get_mcp_server(tenant, server_id)
    for tool in (yield from list_mcp_tools(tenant, server_id)):
        yield from _derive(tenant, server, tool)
    return server


def delete_mcp_server(tenant: str, server_id: str) -> Plan[None]:
    """Remove a server with its tools and secrets. Raises UserError `mcp_server_not_found`."""
    yield from ask("lock_tenant", tenant=tenant)
    yield from get_mcp_server(tenant, server_id)
    for tool in (yield from list_mcp_tools(tenant, server_id)):
        if tool.accepted is not None:
            yield from ask("touch_agents_of_tool", tenant=tenant, tool_id=tool.id, now=now_ms())
            yield from ask("clear_assignments_of_tool", tenant=tenant, tool_id=tool.id)
            yield from ask("delete_tool", tenant=tenant, tool_id=tool.id)
    yield from forget_connections(tenant, server_id)
    yield from delete_secrets_of(tenant, server_id)
    yield from ask("delete_mcp_server", tenant=tenant, server_id=server_id)


def list_mcp_tools(tenant: str, server_id: str | None = None) -> Plan[list[McpToolRecord]]:
    """The tools of a server, or of all of a tenant's servers."""
    rows = yield from ask("list_mcp_tools", tenant=tenant, server_id=server_id)
    return [_tool(row) for row in rows]


def see_mcp_tools(tenant: str, server_id: str, offers: Sequence[McpOffer]) -> Plan[list[McpToolRecord]]:
    """Record what a server offers now. Raises UserError `mcp_server_not_found`."""
    yield from ask("lock_tenant", tenant=tenant)
    server = yield from get_mcp_server(tenant, server_id)
    known = {tool.remote: tool for tool in (yield from list_mcp_tools(tenant, server_id))}
    offered = {offer.name: offer for offer in offers}
    for remote, tool in known.items():
        if remote not in offered and tool.accepted is None:
            yield from ask("forget_mcp_tool", tenant=tenant, tool_id=tool.id)
        elif remote not in offered and tool.offered is not None:
            yield from _put(tenant, server, remote, None)
    for remote, offer in offered.items():
        if remote not in known or known[remote].offered != offer:
            yield from _put(tenant, server, remote, offer)
    tools = yield from list_mcp_tools(tenant, server_id)
    for tool in tools:
        if tool.remote in known and known[tool.remote].state != tool.state:
            yield from _derive(tenant, server, tool)
    return tools


def choose_mcp_tool(
    tenant: str,
    server_id: str,
    tool_id: str,
    choice: McpToolChoice,
    names: Sequence[str],
    digest: str | None = None,
) -> Plan[McpToolRecord]:
    """Set a tool's switch, effect and approval; with a digest, accept the offer that has it.

    Raises UserError `mcp_server_not_found`, `mcp_tool_not_found`, `mcp_tool_changed`.
    """
    yield from ask("lock_tenant", tenant=tenant)
    server = yield from get_mcp_server(tenant, server_id)
    tool = yield from _find_tool(tenant, tool_id)
    if tool is None or tool.server_id != server_id:
        raise UserError(
            "mcp_tool_not_found", f"There is no such tool of {server.name}.", {"tool_id": tool_id}
        )
    accepted = tool.accepted
    if digest is not None:
        if tool.offered is None or tool.offered.digest != digest:
            raise _changed(tool, "it is not what the server offers now")
        accepted = tool.offered
    if accepted is None:
        raise _changed(tool, "it has not been accepted yet")
    yield from ask(
        "choose_mcp_tool",
        tenant=tenant,
        tool_id=tool_id,
        accepted=encode_json("tool", accepted),
        choice=encode_json("choice", choice),
    )
    chosen = structs.replace(tool, accepted=accepted, choice=choice)
    if tool.accepted is None:
        name = yield from _free_name(tenant, names)
        yield from _add(tenant, server, chosen, name)
    else:
        yield from _derive(tenant, server, chosen)
    found = yield from _find_tool(tenant, tool_id)
    return found or chosen


def find_mcp_call(tenant: str, tool_id: str) -> Plan[tuple[McpServer, McpToolRecord] | None]:
    """The server and the tool of a call, as they are now; None if either was deleted."""
    tool = yield from _find_tool(tenant, tool_id)
    if tool is None:
        return None
    row = yield from ask_one("get_mcp_server", tenant=tenant, server_id=tool.server_id)
    return None if row is None else (_server(row), tool)


def assign_mcp_server(tenant: str, agent_id: str, server_id: str, *, given: bool) -> Plan[None]:
    """Give an agent every tool of a server that is on, or take all of them from it.

    Raises UserError `agent_not_found`, `agent_read_only`, `mcp_server_not_found`.
    """
    yield from ask("lock_tenant", tenant=tenant)
    agent = yield from get_agent(tenant, agent_id)
    check_stored(agent)
    yield from get_mcp_server(tenant, server_id)
    has = {tool.name for tool in agent.tools}
    for tool in (yield from list_mcp_tools(tenant, server_id)):
        if given and tool.state == "on" and tool.tool not in has:
            yield from ask("put_assignment", agent_id=agent_id, tool_id=tool.id, approval=None)
        elif not given and tool.tool in has:
            yield from ask("delete_assignment", tenant=tenant, agent_id=agent_id, name=tool.tool)
    yield from ask("touch_agent", tenant=tenant, agent_id=agent_id, now=now_ms())


def forget_connections(tenant: str, server_id: str) -> Plan[None]:
    """Delete the OAuth connections of a server and its clients: it is deleted, or another than they were for."""
    yield from ask("delete_secrets_of_mcp_connections", tenant=tenant, server_id=server_id)
    yield from ask("delete_mcp_connections", tenant=tenant, server_id=server_id)


def _derive(tenant: str, server: McpServer, tool: McpToolRecord) -> Plan[None]:
    """Write what agents have of an accepted tool."""
    if tool.accepted is not None:
        definition = encode_json("tool", definition_of(tool, server))
        yield from ask(
            "change_mcp_agent_tool", tenant=tenant, tool_id=tool.id, definition=definition, now=now_ms()
        )


def _add(tenant: str, server: McpServer, tool: McpToolRecord, name: str) -> Plan[None]:
    """Let agents have a tool; those that were given its name before get it."""
    definition, now = encode_json("tool", definition_of(tool, server)), now_ms()
    row = {"tenant": tenant, "tool_id": tool.id}
    yield from ask("add_mcp_agent_tool", name=f" {tool.id}", definition=definition, now=now, **row)
    yield from take_name(tenant, tool.id, name)
    yield from ask("name_mcp_agent_tool", name=name, **row)


def _free_name(tenant: str, names: Sequence[str]) -> Plan[str]:
    """The first of these names that no tool of the team has. Raises UserError `tool_exists`."""
    for name in names:
        if (yield from ask_one("own_tool_by_name", tenant=tenant, name=name)) is None:
            return name
    raise UserError("tool_exists", f"There is already a tool {names[0]}.", {"name": names[0]})


def _put(tenant: str, server: McpServer, remote: str, offer: McpOffer | None) -> Plan[None]:
    yield from ask(
        "put_mcp_tool",
        tool_id=new_id("tool"),
        server_id=server.id,
        tenant=tenant,
        remote=remote,
        offered=None if offer is None else encode_json("tool", offer),
        choice=encode_json("choice", McpToolChoice()),
        now=now_ms(),
    )


def _find_tool(tenant: str, tool_id: str) -> Plan[McpToolRecord | None]:
    row = yield from ask_one("get_mcp_tool", tenant=tenant, tool_id=tool_id)
    return None if row is None else _tool(row)


def _server(row: Row) -> McpServer:
    known = as_row(_ServerRow, row)
    fields = structs.asdict(structs.replace(_decode_fields(known.definition), name=known.name))
    return McpServer(
        **fields,
        id=known.id,
        tenant=known.tenant,
        created_at=known.created_at,
        updated_at=known.updated_at,
    )


def _tool(row: Row) -> McpToolRecord:
    known = as_row(_ToolRow, row)
    return McpToolRecord(
        id=known.id,
        server_id=known.server_id,
        remote=known.remote,
        tool=known.tool,
        offered=None if known.offered is None else _decode_offer(known.offered),
        accepted=None if known.accepted is None else _decode_offer(known.accepted),
        choice=_decode_choice(known.choice),
        seen_at=known.seen_at,
    )


def _values(tenant: str, server_id: str, fields: McpServerFields) -> dict[str, object]:
    return {
        "tenant": tenant,
        "server_id": server_id,
        "name": fields.name,
        "definition": encode_json("server", fields),
        "now": now_ms(),
    }


def _changed(tool: McpToolRecord, why: str) -> UserError:
    return UserError(
        "mcp_tool_changed",
        f"{tool.remote} cannot be taken like this: {why}. Look at it again, and accept its newest digest.",
        {"tool_id": tool.id},
    )


def _exists(name: str) -> UserError:
    return UserError("mcp_server_exists", f"There is already an MCP server {name}.", {"name": name})
