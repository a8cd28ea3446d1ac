"""The rack: a team's tools are made of their definitions, and kept while those are the same."""

from collections.abc import Mapping
from functools import partial

import pytest
from msgspec import structs

from agio.core.config import AgentRunConfig
from agio.core.http_tool import HttpHeader, HttpTool
from agio.core.link.link import ToolKind, ToolOffer
from agio.core.provider import Sealed, SecretPlace
from agio.core.store.records import AgentRecord, AgentTool
from agio.core.tool import ToolAnswer, ToolContext
from agio.egress import Egress
from agio.errors import StoreError, UserError
from agio.gateway.tools.offers import knows_profile, tools_of
from agio.gateway.tools.rack import ToolRack, open_secrets
from agio.protocol.messages import Json
from agio.tools.clock import clock
from agio.tools.mcp.servers import McpCall
from agio.vault import Vault

HTTP = HttpTool(
    description="The weather.",
    method="GET",
    url="https://example.com/",
    parameters={"type": "object", "properties": {}},
    headers=[HttpHeader(name="X-Key", secret=True)],
    effect="read",
)
TOOL = AgentTool("weather", None, "tool_1", HTTP, 1)
PLACE = SecretPlace("t", "tool_1", HTTP.field_of(HTTP.headers[0]))


class Secrets:
    """Secrets of one tool."""

    def __init__(self, sealed: dict[str, Sealed]) -> None:
        self.sealed = sealed

    async def secrets_of(self, tenant: str, owner_id: str) -> dict[str, Sealed]:
        """See the port."""
        return self.sealed if (tenant, owner_id) == ("t", "tool_1") else {}


class NoServers:
    """No MCP servers."""

    async def call(
        self, call: McpCall, context: ToolContext, arguments: Mapping[str, Json], timeout_s: float
    ) -> ToolAnswer:
        raise AssertionError(call)


def rack(vault: Vault | None, sealed: dict[str, Sealed] | None = None) -> ToolRack:
    opener = partial(open_secrets, Secrets(sealed or {}), vault)
    return ToolRack({"clock": clock}, AgentRunConfig(), opener, Egress(), NoServers())


def test_a_tool_is_made_once_for_a_definition() -> None:
    """C3: the same definition is the same tool; a changed one is another, also at the same moment."""
    made = rack(None)
    first = made.executor("t", TOOL)
    assert made.executor("t", TOOL) is first
    changed = structs.replace(TOOL, http=structs.replace(HTTP, url="https://example.com/other"))
    assert made.executor("t", changed) is not first
    assert [spec.name for spec in made.executor("t", None).specs] == ["clock"]


async def test_secrets_are_opened_for_their_own_tool_alone() -> None:
    """C3: another tenant's or another tool's do not open, and without a master key none do."""
    vault = Vault([b"k" * 32])
    sealed = {PLACE.field: vault.seal(PLACE, "secret")}
    assert await open_secrets(Secrets(sealed), vault, "t", "tool_1") == {PLACE.field: "secret"}
    moved = {PLACE.field: vault.seal(structs.replace(PLACE, tenant="other"), "theirs")}
    with pytest.raises(StoreError) as unreadable:
        await open_secrets(Secrets(moved), vault, "t", "tool_1")
    assert unreadable.value.code == "secret_unreadable"
    with pytest.raises(UserError) as locked:
        await open_secrets(Secrets(sealed), None, "t", "tool_1")
    assert locked.value.code == "no_secret_key"


def _offer(name: str, kind: ToolKind) -> ToolOffer:
    return ToolOffer(name=name, description=kind, parameters={}, kind=kind)


@pytest.mark.parametrize(("source", "description"), [("stored", "The weather."), ("code", "module")])
def test_a_teams_own_tool_comes_before_a_built_in_one(source: str, description: str) -> None:
    """C3: a new built-in tool of the same name does not take its place; for an agent in code its module comes first."""
    agent = AgentRecord(
        name="a",
        system_prompt="",
        model_provider="demo",
        model_name="demo",
        tools=[TOOL],
        id="agt_1",
        tenant="t",
        source="code" if source == "code" else "stored",
        created_at=0,
        updated_at=0,
    )
    built_in = {"weather": _offer("weather", "builtin")}
    module = {"weather": _offer("weather", "module")}
    offers = tools_of(agent, built_in, module)
    assert offers["weather"].description == description
    asking = structs.replace(agent, tools=[structs.replace(TOOL, approval="ask")])
    assert tools_of(asking, built_in, {})["weather"].approval == "ask"


def test_only_agents_with_the_tools_are_told_the_profile() -> None:
    """R11: and a worker's tool of that name is not one of them."""
    assert knows_profile({"read_profile": _offer("read_profile", "builtin")})
    assert not knows_profile({"read_profile": _offer("read_profile", "module")})
    assert not knows_profile({"clock": _offer("clock", "builtin")})
