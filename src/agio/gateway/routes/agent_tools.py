"""Tools of a team's agents: all there are, and the team's own HTTP tools. Secrets are written and never read."""

import hashlib
from collections.abc import Collection, Mapping, Sequence

from fastapi.responses import Response
from msgspec import Struct

from agio.core.http_tool import HttpHeader, HttpMethod, HttpTool, ToolDefinition
from agio.core.link.link import Place, ToolKind, ToolOffer, offer_tool
from agio.core.provider import Sealed, SecretPlace
from agio.core.run.fold import COMPLETE_GOAL
from agio.core.store.records import AgentRecord
from agio.core.store.repository import Approval, Effect
from agio.egress import parse_target
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.query import Id, IfMatch, expected_version
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.tool_bodies import HttpToolBody
from agio.gateway.routes.tools import known_tools
from agio.gateway.tools.endpoints import need_vault
from agio.protocol.ids import new_id
from agio.protocol.messages import Json
from agio.tools.http_template import check_headers
from agio.tools.http_tool import check_http_tool
from agio.tools.registry import DEMO_ONLY


class HeaderView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A header of an HTTP tool. A secret one has no value here."""

    name: str
    value: str | None = None
    secret: bool = False


class ToolUser(Struct, frozen=True):
    """An agent that has a tool."""

    id: str
    name: str


class AgentToolDetails(Struct, frozen=True, kw_only=True):
    """A tool agents may be given. Only the team's own HTTP tools can be changed."""

    id: str
    name: str
    kind: ToolKind
    place: Place
    description: str
    parameters: dict[str, Json]
    effect: Effect
    approval: Approval
    timeout_s: float | None
    read_only: bool
    agents: list[ToolUser]
    """The agents that have it."""
    unchecked_patterns: Sequence[str] = ()
    """In the response to a save: patterns of its parameters that arguments are not checked against."""
    method: HttpMethod | None = None
    url: str | None = None
    headers: list[HeaderView] | None = None
    result_path: str | None = None
    created_at: int | None = None
    updated_at: int | None = None


class AgentTools(Struct, frozen=True):
    """The tools a team's agents may be given, by name."""

    items: list[AgentToolDetails]


class Known(Struct, frozen=True):
    """A tool of a team. `definition`: of an HTTP tool."""

    id: str
    offer: ToolOffer
    definition: ToolDefinition | None = None


async def list_agent_tools(call: Call) -> Response:
    """List the tools agents may be given: built-in, the workers', and the team's own."""
    known = await tools_of_team(call.gateway, call.who.tenant)
    users = await _users(call.gateway, call.who.tenant)
    return answer(AgentTools([tool_view(known[name], users) for name in sorted(known)]))


async def create_agent_tool(call: Call, body: HttpToolBody) -> Response:
    """Add an HTTP tool. Its secret headers are sealed, and in no answer from then on."""
    gateway, tenant = call.gateway, call.who.tenant
    http = body.http()
    unchecked = await call.compile_schema(check_http_tool, body.name, http)
    await _check_address(gateway, http.url)
    _check_name(gateway, tenant, body.name)
    tool_id = new_id("tool")
    secrets = _sealed(gateway, tenant, tool_id, body)
    _check_secrets(http, secrets, {})
    made = await gateway.store.create_tool_definition(tenant, tool_id, body.name, http, secrets)
    view = tool_view(_http(made), await _users(gateway, tenant), unchecked)
    return answer(view, 201, version=made.updated_at)


async def get_agent_tool(call: Call, tool_id: Id) -> Response:
    """Get a tool, without the values of its secret headers."""
    gateway, tenant = call.gateway, call.who.tenant
    view = tool_view(await find_tool(gateway, tenant, tool_id), await _users(gateway, tenant))
    return answer(view, version=view.updated_at)


async def replace_agent_tool(
    call: Call, tool_id: Id, body: HttpToolBody, if_match: IfMatch = None
) -> Response:
    """Replace an HTTP tool. A secret without a value stays, unless the tool calls another host."""
    gateway, tenant = call.gateway, call.who.tenant
    before = await _own_tool(gateway, tenant, tool_id)
    http = body.http()
    unchecked = await call.compile_schema(check_http_tool, body.name, http)
    await _check_address(gateway, http.url)
    if body.name != before.name:
        _check_name(gateway, tenant, body.name)
    secrets = _sealed(gateway, tenant, tool_id, body)
    _check_secrets(http, secrets, await gateway.store.secrets_of(tenant, tool_id))
    changed = await gateway.store.update_tool_definition(
        tenant, tool_id, body.name, http, secrets, expected_version(call, if_match)
    )
    view = tool_view(_http(changed), await _users(gateway, tenant), unchecked)
    return answer(view, version=changed.updated_at)


async def delete_agent_tool(call: Call, tool_id: Id) -> Response:
    """Delete an HTTP tool with its secrets, and take it from all agents."""
    await _own_tool(call.gateway, call.who.tenant, tool_id)
    await call.gateway.store.delete_tool_definition(call.who.tenant, tool_id)
    return Response(status_code=204)


async def tools_of_team(gateway: Gateway, tenant: str, agent: AgentRecord | None = None) -> dict[str, Known]:
    """Return the tools that a tenant's agents can be given, by name; the demo agent keeps those of its own."""
    own = () if agent is None else [tool.name for tool in agent.tools]
    return _standing(gateway, tenant, own) | {
        made.name: _http(made) for made in await gateway.store.list_tool_definitions(tenant)
    }


async def find_tool(gateway: Gateway, tenant: str, tool_id: str) -> Known:
    """Return the tool with an id. Raises UserError `tool_not_found`."""
    standing = next((tool for tool in _standing(gateway, tenant).values() if tool.id == tool_id), None)
    return standing or _http(await gateway.store.get_tool_definition(tenant, tool_id))


async def named_tool(gateway: Gateway, tenant: str, name: str) -> Known:
    """Return the tool with a name. Raises UserError `tool_not_found`."""
    own = await gateway.store.find_tool_definition(tenant, name)
    found = _standing(gateway, tenant).get(name) if own is None else _http(own)
    if found is None:
        raise UserError("tool_not_found", f"There is no tool {name}.", {"name": name})
    return found


def tool_view(
    tool: Known, users: Mapping[str, list[ToolUser]], unchecked: Sequence[str] = ()
) -> AgentToolDetails:
    """Show a tool."""
    offer, made = tool.offer, tool.definition
    http = None if made is None else made.http
    return AgentToolDetails(
        id=tool.id,
        name=offer.name,
        kind=offer.kind,
        place=offer.place,
        description=offer.description,
        parameters=offer.parameters,
        effect=offer.effect,
        approval=offer.approval,
        timeout_s=offer.timeout_s,
        read_only=made is None,
        agents=users.get(offer.name, []),
        unchecked_patterns=unchecked,
        method=None if http is None else http.method,
        url=None if http is None else http.url,
        headers=None if http is None else _shown_headers(http),
        result_path=None if http is None else http.result_path,
        created_at=None if made is None else made.created_at,
        updated_at=None if made is None else made.updated_at,
    )


def _standing(gateway: Gateway, tenant: str, own: Collection[str] = ()) -> dict[str, Known]:
    """Return the tools without a definition in the store. Their ids are derived from their names."""
    return {
        name: Known(_id_of(name), offer)
        for name, offer in known_tools(gateway, tenant).items()
        if name not in DEMO_ONLY or name in own
    }


def _id_of(name: str) -> str:
    return f"tool_{hashlib.sha256(b'agio tool ' + name.encode()).hexdigest()[:20]}"


def _http(made: ToolDefinition) -> Known:
    return Known(made.id, offer_tool("http", made.name, made.http), made)


async def _own_tool(gateway: Gateway, tenant: str, tool_id: str) -> ToolDefinition:
    """Return a tool the team may change. Raises UserError `tool_not_found`, `tool_read_only`."""
    known = await find_tool(gateway, tenant, tool_id)
    if known.definition is None:
        raise UserError(
            "tool_read_only", f"{known.offer.name} is no tool of the team's own.", {"tool_id": tool_id}
        )
    return known.definition


async def _users(gateway: Gateway, tenant: str) -> dict[str, list[ToolUser]]:
    users: dict[str, list[ToolUser]] = {}
    for use in await gateway.store.list_tool_uses(tenant):
        users.setdefault(use.tool, []).append(ToolUser(use.agent_id, use.agent_name))
    return users


def _shown_headers(http: HttpTool) -> list[HeaderView]:
    return [
        HeaderView(name=header.name, secret=True)
        if header.secret
        else HeaderView(name=header.name, value=header.value)
        for header in http.headers
    ]


def _check_name(gateway: Gateway, tenant: str, name: str) -> None:
    if name == COMPLETE_GOAL or name in known_tools(gateway, tenant):
        raise UserError("tool_exists", f"There is already a tool {name}.", {"name": name})


def _sealed(gateway: Gateway, tenant: str, tool_id: str, body: HttpToolBody) -> dict[str, Sealed]:
    """Seal the secrets that were given. Raises UserError `invalid_tool`, `no_secret_key`."""
    sealed: dict[str, Sealed] = {}
    http = body.http()
    for header, given in zip(http.headers, body.headers, strict=True):
        if header.secret and given.value is not None:
            check_headers(body.name, [HttpHeader(name=header.name, value=given.value)])
            place = SecretPlace(tenant, tool_id, http.field_of(header))
            sealed[place.field] = need_vault(gateway.vault).seal(place, given.value)
    return sealed


def _check_secrets(http: HttpTool, given: Mapping[str, Sealed], kept: Mapping[str, Sealed]) -> None:
    """Refuse a tool whose secrets are not all known: a secret goes only where it was entered for."""
    known = {*given, *kept}
    missing = [header.name for header in http.headers if header.secret and http.field_of(header) not in known]
    if missing:
        raise UserError(
            "secret_required",
            f"Enter the value of {', '.join(missing)}: it is not known, or was entered for another host.",
            {"headers": missing},
        )


async def _check_address(gateway: Gateway, url: str) -> None:
    """Refuse at once an address that every call would be refused for. Raises UserError `egress_refused`."""
    target = parse_target(url)
    if target.address is not None or target.host == "localhost" or target.host.endswith(".localhost"):
        await gateway.egress.addresses(target.host, target.port)
