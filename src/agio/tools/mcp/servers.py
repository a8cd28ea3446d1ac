"""McpServers: a team's MCP servers as the gateway uses them: connect, check, call a tool, notice what changed."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, structs

from agio.core.mcp import McpOffer, McpServer, McpServerFields, McpStore, McpTool, McpToolRecord
from agio.core.tool import GivenInput, ToolAnswer, ToolContext
from agio.egress import Egress
from agio.errors import AgioError, UserError
from agio.protocol.messages import FileSource, Json
from agio.tools.mcp.catalogue import fingerprint
from agio.tools.mcp.link import Ask, Asked, Command, Credential, Credentials, Peer, Target
from agio.tools.mcp.pool import McpPool

KeepFile = Callable[[ToolContext, bytes], Awaitable[FileSource | None]]
"""Keeps a file of a call beside its session; None: it is not taken."""

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from agio.tools.mcp.connection import Result

_REPORT_S = 0.2
"""The least time between two reports of a call's progress."""
_KEPT = 10_000
_ROUNDS = 10
"""How often a call may ask a person; after that its questions are declined."""
_LOST = frozenset({"upstream_unreachable", "upstream_timeout", "upstream_invalid", "upstream_too_large"})
"""Failures after which the server may have acted."""


class Checked(Struct, frozen=True, kw_only=True):
    """What a server is found to be."""

    peer: Peer
    offers: list[McpOffer]
    latency_ms: int


class _Kept(Struct, frozen=True):
    """What is kept of a call that asks a person: the server's state, and the keys of its questions in their order."""

    state: str | None = None
    keys: list[str] = []
    rounds: int = 0


class McpCall(Struct, frozen=True, kw_only=True):
    """A tool to call, as a run or a request has it."""

    tenant: str
    tool_id: str
    tool: McpTool


class McpServers:
    """Calls the tools of MCP servers. `commands` are the operator's stdio servers, by name."""

    def __init__(
        self,
        store: McpStore,
        credentials: Credentials,
        egress: Egress,
        keep_file: KeepFile,
        commands: Mapping[str, Command] | None = None,
    ) -> None:
        self.commands = commands or {}
        self._store = store
        self._credentials = credentials
        self._keep_file = keep_file
        self._pool = McpPool(egress, self._see)
        self._seen: dict[str, tuple[str, ...]] = {}
        """The catalogue of each server that was recorded last, by this gateway."""

    async def call(
        self, call: "McpCall", context: ToolContext, arguments: Mapping[str, Json], timeout_s: float
    ) -> ToolAnswer:
        """Call a tool as it was pinned.

        Raises UserError `mcp_server_off`, `mcp_tool_changed`; UpstreamError and others that say why it failed.
        """
        server = _check_on(call.tool, await self._store.find_mcp_call(call.tenant, call.tool_id))
        target = self._target(server, context.user)
        await target.credential.headers()  # without a connection the server is not asked at all
        kept, answers = _resumed(context)
        ask = Ask(
            tool=call.tool.remote,
            arguments=arguments,
            timeout_s=timeout_s,
            report=_throttled(context),
            takes_questions=bool(context.run) and kept.rounds < _ROUNDS,
            state=kept.state,
            answers=answers,
            traceparent=context.traceparent,
        )
        try:
            try:
                result = await self._try(target, call.tool, ask)
            except AgioError as error:
                if not error.details.get("again"):
                    raise
                result = await self._try(target, call.tool, ask)
        except AgioError as error:
            words = error.message = target.credential.hidden(error.message)
            if call.tool.effect == "once" and error.details.get("sent") is True and error.code in _LOST:
                return ToolAnswer(
                    f"It is unknown whether {call.tool.remote} took effect: {words} Check before you call it again.",
                    "unknown",
                )
            raise
        if isinstance(result, Asked):
            return _questions(result, kept.rounds + 1, target.credential)
        return await self._answer(result, target.credential, context)

    async def check(self, server: McpServer, user: str) -> Checked:
        """Connect to a server of the store anew, and record what it offers. Raises AgioError."""
        return await self._check(structs.replace(self._target(server, user), shared=True))

    async def test(self, tenant: str, fields: McpServerFields, credential: Credential) -> Checked:
        """Connect to a server that is not in the store. Raises AgioError."""
        return await self._check(
            Target(
                tenant=tenant,
                server_id="",
                version=0,
                name=fields.name,
                transport=fields.transport,
                url=fields.url or "",
                credential=credential,
            )
        )

    def forget(self, tenant: str, server_id: str) -> None:
        """End the connections to a server that was changed or deleted."""
        self._pool.forget(tenant, server_id)
        self._seen.pop(server_id, None)

    async def close(self) -> None:
        """End every connection and process."""
        await self._pool.close()

    async def _check(self, target: Target) -> Checked:
        began = time.monotonic()
        connection = await self._pool.open(target)
        try:
            peer = await connection.ready()
            latency_ms = round((time.monotonic() - began) * 1000)
            return Checked(peer=peer, offers=await connection.offers(), latency_ms=latency_ms)
        except AgioError as error:
            error.message = target.credential.hidden(error.message)
            raise
        finally:
            await connection.close()

    async def _try(self, target: Target, tool: McpTool, ask: Ask) -> "Result":
        connection = await self._pool.get(target)
        if not _is(tool, await connection.offer(tool.remote)):
            offer = await connection.offer(tool.remote, anew=True)
            if not _is(tool, offer):
                raise _held_back(tool, gone=offer is None)
        return await connection.call(ask)

    async def _answer(
        self, result: "CallToolResult", credential: Credential, context: ToolContext
    ) -> ToolAnswer:
        from agio.tools.mcp.results import answer_of

        return await answer_of(result, lambda data: self._keep_file(context, data), credential.hidden)

    def _target(self, server: McpServer, user: str) -> Target:
        """Raises UserError `mcp_server_off` for a stdio server that the operator has removed."""
        command = self.command_of(server.tenant, server.name) if server.transport == "stdio" else None
        if server.transport == "stdio" and command is None:
            raise UserError(
                "mcp_server_off",
                f"{server.name} is no longer in the operator's agio.toml, or not for this team.",
                {"server_id": server.id},
            )
        return Target(
            tenant=server.tenant,
            server_id=server.id,
            version=server.updated_at,
            name=server.name,
            transport=server.transport,
            url=server.url or "",
            command=command,
            credential=self._credentials.of(server, user),
            shared=server.auth != "oauth" or server.owner_of(user) == "",
        )

    def command_of(self, tenant: str, name: str) -> Command | None:
        """Return the command of an operator's server that a team has; None: it has none of this name."""
        command = self.commands.get(name)
        allowed = command is not None and (command.tenants is None or tenant in command.tenants)
        return command if allowed else None

    async def _see(self, target: Target, offers: Sequence[McpOffer]) -> None:
        """Record a catalogue, if it is another than before."""
        digest = fingerprint(offers)
        if not target.server_id or not target.shared or self._seen.get(target.server_id) == digest:
            return
        await self._store.see_mcp_tools(target.tenant, target.server_id, offers)
        if len(self._seen) >= _KEPT:
            self._seen.clear()
        self._seen[target.server_id] = digest


def _check_on(tool: McpTool, found: tuple[McpServer, McpToolRecord] | None) -> McpServer:
    """Refuse a tool that was switched off, held back or deleted since it was pinned. Raises UserError."""
    if found is None:
        raise UserError("mcp_server_off", f"The MCP server of {tool.remote} was deleted.")
    server, record = found
    if not server.enabled or not record.choice.enabled:
        off = server.name if not server.enabled else tool.remote
        raise UserError("mcp_server_off", f"{off} was switched off.", {"server_id": server.id})
    if not _is(tool, record.offered):
        raise _held_back(tool, gone=record.offered is None)
    return server


def _is(tool: McpTool, offer: McpOffer | None) -> bool:
    """Whether an offer is what was accepted when the tool was pinned."""
    return offer is not None and offer.digest == tool.digest


def _held_back(tool: McpTool, *, gone: bool) -> UserError:
    what = "is no longer offered by its server" if gone else "has changed at its server since it was accepted"
    return UserError(
        "mcp_tool_changed",
        f"{tool.remote} {what}: it is held back until a person looks at the server's page.",
        {"server_id": tool.server_id, "sent": False},
    )


def _throttled(context: ToolContext) -> Callable[[str, float | None], None]:
    """Report a call's progress, and no flood of it."""
    said_at = 0.0

    def report(message: str, fraction: float | None) -> None:
        nonlocal said_at
        now = time.monotonic()
        if now - said_at >= _REPORT_S or fraction == 1:
            said_at = now
            context.progress(message, None if fraction is None else min(1.0, max(0.0, fraction)))

    return report


def _resumed(context: ToolContext) -> tuple[_Kept, dict[str, GivenInput]]:
    """Return what was kept of a call that asked, and the answers by the server's keys."""
    if context.resumed is None:
        return _Kept(), {}
    kept = msgspec.json.decode(context.resumed.state, type=_Kept)
    return kept, dict(zip(kept.keys, context.resumed.given, strict=True))


def _questions(asked: Asked, rounds: int, credential: Credential) -> ToolAnswer:
    """Return a server's questions as an answer that waits for a person."""
    kept = _Kept(asked.state, list(asked.questions), rounds)
    asks = [
        structs.replace(question, message=credential.hidden(question.message))
        for question in asked.questions.values()
    ]
    return ToolAnswer("", None, asks, msgspec.json.encode(kept).decode())
