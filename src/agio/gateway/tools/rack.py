"""The tools that run at this gateway, ready to be called: built-in ones, and those that teams define."""

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Protocol, TypeAlias

from msgspec import structs

from agio.core.config import AgentRunConfig
from agio.core.http_tool import HttpTool
from agio.core.mcp import McpTool
from agio.core.provider import Sealed, SecretPlace
from agio.core.store.records import AgentTool
from agio.core.tool import AnyTool
from agio.egress import Egress
from agio.execution.tool_executor import ToolExecutor
from agio.gateway.tools.endpoints import need_vault
from agio.tools.http_template import LONGEST_TIMEOUT_S
from agio.tools.http_tool import Sender, make_http_tool
from agio.tools.mcp.credentials import OpenSecrets
from agio.tools.mcp.servers import McpCall
from agio.tools.mcp.tool import McpCaller, make_mcp_tool
from agio.vault import Vault

_KEPT = 1000
_Definition: TypeAlias = HttpTool | McpTool | None


class SecretStore(Protocol):
    """Where the secrets of tools are kept."""

    async def secrets_of(self, tenant: str, owner_id: str) -> dict[str, Sealed]:
        """All sealed secrets of a tool, by field."""
        ...


class ToolRack:
    """The executors of tools. Those of teams' tools are made from their definitions, and cached until these change."""

    def __init__(
        self,
        built_in: Mapping[str, AnyTool],
        config: AgentRunConfig,
        open_secrets: OpenSecrets,
        egress: Egress,
        mcp: McpCaller,
    ) -> None:
        self.built_in = built_in
        self._config = config
        self._open_secrets = open_secrets
        self._egress = egress
        self._mcp = mcp
        self._own = ToolExecutor(list(built_in.values()), config)
        self._made: OrderedDict[tuple[str, str, float | None], tuple[_Definition, ToolExecutor]] = (
            OrderedDict()
        )

    def executor(self, tenant: str, tool: AgentTool | None, timeout_s: float | None = None) -> ToolExecutor:
        """Return who runs a team's tool, or with None the built-in ones.

        `timeout_s` is for tools that do not say themselves how long they may take. Raises UserError
        `invalid_tool`, `invalid_schema`.
        """
        definition = None if tool is None else tool.definition
        if timeout_s is None and definition is None:
            return self._own
        name = ("", "", timeout_s) if tool is None or definition is None else (tool.id, tool.name, timeout_s)
        known = self._made.get(name)
        if known is None or known[0] != definition:
            if tool is not None and tool.mcp is not None:
                made = self._make_mcp(tenant, tool, tool.mcp, timeout_s)
            elif tool is not None and tool.http is not None:
                made = self.make(tenant, tool, tool.http, self._egress, timeout_s)
            else:
                made = ToolExecutor(list(self.built_in.values()), self._within(timeout_s))
            known = self._made[name] = definition, made
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(name)
        return known[1]

    def make(
        self,
        tenant: str,
        tool: AgentTool,
        http: HttpTool,
        sender: Sender,
        timeout_s: float | None = None,
    ) -> ToolExecutor:
        """Make who runs a team's tool, over a sender of one's own."""
        secrets = partial(self._open_secrets, tenant, tool.id)
        if http.timeout_s is None and timeout_s is not None:
            http = structs.replace(http, timeout_s=min(timeout_s, LONGEST_TIMEOUT_S))
        return ToolExecutor([make_http_tool(tool.name, http, secrets, sender)], self._config)

    def _make_mcp(self, tenant: str, tool: AgentTool, mcp: McpTool, timeout_s: float | None) -> ToolExecutor:
        call = McpCall(tenant=tenant, tool_id=tool.id, tool=mcp)
        limit_s = mcp.timeout_s or timeout_s or self._config.tool_timeout_s
        return ToolExecutor([make_mcp_tool(self._mcp, tool.name, call, limit_s)], self._config)

    def _within(self, timeout_s: float | None) -> AgentRunConfig:
        return self._config if timeout_s is None else structs.replace(self._config, tool_timeout_s=timeout_s)


async def open_secrets(store: SecretStore, vault: Vault | None, tenant: str, owner_id: str) -> dict[str, str]:
    """Open the secrets of a tool or a server, by field.

    Raises StoreError `secret_unreadable`, UserError `no_secret_key`.
    """
    sealed = await store.secrets_of(tenant, owner_id)
    opener = need_vault(vault)
    return {
        field: opener.open(SecretPlace(tenant, owner_id, field), secret) for field, secret in sealed.items()
    }
