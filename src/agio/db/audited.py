"""The audited changes: one rule for each kind of change that a person or program makes.

Messages, runs and reads are not audited: runs have logs of their own. A line of `db/repository.py` names its
action; no rule names a secret, a person's text, or an e-mail address, since entries cannot be removed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from msgspec import Struct

from agio.core.identity.principal import DEFAULT_TENANT
from agio.core.memory import MemoryRecord
from agio.core.provider import KEY_FIELD, Sealed
from agio.core.store.audit import Actor
from agio.core.store.records import InterruptRecord, Submission
from agio.db.plan import Plan
from agio.db.plans.agents import agents, mcp, providers, tools
from agio.db.plans.memories import memories
from agio.db.plans.people import identity
from agio.db.plans.people.accounts import memberships
from agio.db.plans.people.audit import AuditRule, Note, Values, audited, look
from agio.db.plans.sessions import retention, sessions

_OPERATOR = f"={DEFAULT_TENANT}"
"""The operator's own actions are entries of the first team."""


def _text(values: Values, name: str) -> str:
    return cast("str", values[name])


def _of_account(path: str, when: Callable[[Values], bool] | None = None) -> AuditRule:
    """Make an entry in every team of an account."""

    def notes(values: Values) -> Plan[Sequence[Note]]:
        account_id = str(look(path, values))
        found = yield from memberships(account_id)
        return [Note(tenant=each.tenant, target=account_id, user=each.user) for each in found]

    return AuditRule(target=path, notes=notes, when=when)


def _asked(values: Values) -> Plan[object]:
    given = cast("Submission", values["given"])
    return (
        yield from sessions.list_interrupts(_text(values, "tenant"), _text(values, "user"), given.session_id)
    )


def _answers(values: Values) -> Plan[Sequence[Note]]:
    """Make an entry for each call that was approved or refused."""
    yield from ()
    given = cast("Submission", values["given"])
    if getattr(values["result"], "repeated", False):
        return []
    asked = {each.id: each for each in cast("list[InterruptRecord]", values["before"])}
    notes: list[Note] = []
    for entry in given.resume:
        question = asked.get(entry.interrupt_id)
        payload: object = entry.payload
        said = cast("Mapping[str, object]", payload if isinstance(payload, dict) else {})
        details: dict[str, object] = {
            "tool": question.tool if question is not None else "",
            "approved": said.get("approved") is True,
            "edited": "editedArgs" in said,
            "session": given.session_id,
            "run": question.run_id if question is not None else "",
        }
        call = question.tool_call_id if question is not None else entry.interrupt_id
        notes.append(Note(tenant=_text(values, "tenant"), target=call, details=details))
    return notes


def _revoked(values: Values) -> Plan[Sequence[Note]]:
    """Make an entry for a key and for each key that was revoked with it."""
    yield from ()
    tenant, first = _text(values, "tenant"), _text(values, "key_id")
    of: dict[str, object] = {"of": _text(values, "user")}
    return [
        Note(tenant=tenant, target=key_id, details=of if key_id == first else {**of, "with": first})
        for key_id in cast("list[str]", values["result"])
    ]


class _Was(Struct, frozen=True):
    """The member before the change."""

    role: str


def _member(values: Values) -> Plan[object]:
    _, role = yield from identity.get_user(_text(values, "tenant"), _text(values, "user"))
    return _Was(role)


def _agent(values: Values) -> Plan[object]:
    return (yield from agents.get_agent(_text(values, "tenant"), _text(values, "agent_id")))


def _tool(values: Values) -> Plan[object]:
    return (yield from tools.get_tool_definition(_text(values, "tenant"), _text(values, "tool_id")))


def _provider(values: Values) -> Plan[object]:
    return (yield from providers.get_provider(_text(values, "tenant"), _text(values, "provider_id")))


def _mcp_server(values: Values) -> Plan[object]:
    return (yield from mcp.get_mcp_server(_text(values, "tenant"), _text(values, "server_id")))


def _memory(values: Values) -> Plan[object]:
    return (
        yield from memories.get_memory(
            _text(values, "tenant"), _text(values, "user"), _text(values, "memory_id")
        )
    )


def _approved(values: Values) -> Plan[Sequence[Note]]:
    """Make an entry for each memory."""
    yield from ()
    tenant, session = _text(values, "tenant"), _text(values, "session_id")
    return [
        Note(tenant=tenant, target=memory.id, details={"scope": memory.scope, "session": session})
        for memory in cast("list[MemoryRecord]", values["result"])
    ]


def _new_key(values: Values) -> list[str]:
    return [KEY_FIELD] if isinstance(values["key"], Sealed) else []


def _new_secrets(values: Values) -> list[str]:
    return list(cast("Mapping[str, Sealed]", values["secrets"]))


def _browser(values: Values) -> Plan[object]:
    return (yield from identity.find_web_session(cast("bytes", values["token_hash"])))


AUDITED: dict[str, AuditRule] = {
    # Sign-in and accounts
    "sign_in": AuditRule(
        target="session.id", tenant="session.tenant", user="session.user", credential="session.id"
    ),
    "sign_out": AuditRule(
        target="before.credential",
        tenant="before.tenant",
        user="before.user",
        credential="before.credential",
        before=_browser,
        when=lambda values: values["before"] is not None,
    ),
    "sign_in.link": AuditRule(target="user"),
    "sign_in.fail": _of_account("account_id"),
    "sign_in.switch": AuditRule(target="session_id", user="result.user", credential="session_id"),
    "account.sign_out": _of_account("account_id"),
    "user.sign_out": AuditRule(target="user"),
    "account.create": AuditRule(target="account.id", user="user"),
    "account.change": _of_account("account_id"),
    "account.password": _of_account("account_id", lambda values: values["instead_of"] is None),
    "account.identity": _of_account("account_id"),
    "account.unlink": _of_account("account_id"),
    # Keys
    "key.create": AuditRule(
        target="key.id",
        tenant="key.tenant",
        facts={"name": "key.name", "permissions": "key.permissions", "for": "key.user"},
        when=lambda values: values["result"] is True,
    ),
    "key.revoke": AuditRule(target="key_id", notes=_revoked),
    "worker_key.create": AuditRule(
        target="key.id", tenant=_OPERATOR, facts={"name": "key.name", "tenants": "key.tenants"}
    ),
    "worker_key.revoke": AuditRule(target="key_id", tenant=_OPERATOR),
    "secrets.rotate": AuditRule(
        target="", tenant=_OPERATOR, facts={"count": "result"}, when=lambda values: bool(values["result"])
    ),
    # Teams
    "tenant.create": AuditRule(target="result.tenant", tenant="result.tenant", user="result.user"),
    "tenant.rename": AuditRule(target="tenant"),
    "tenant.retention": AuditRule(target="tenant", facts={"days": "days"}),
    "tenant.sdk_sessions": AuditRule(target="tenant", facts={"needs": "needs"}),
    "member.join": AuditRule(target="result", user="result", facts={"role": "role"}),
    "member.role": AuditRule(target="user", before=_member, facts={"from": "before.role", "to": "role"}),
    "member.remove": AuditRule(target="user", before=_member, facts={"role": "before.role"}),
    "invitation.create": AuditRule(
        target="invitation.id", tenant="invitation.tenant", facts={"role": "invitation.role"}
    ),
    "invitation.revoke": AuditRule(target="invitation_id"),
    "invitation.accept": AuditRule(
        target="result.user", tenant="result.tenant", user="result.user", facts={"role": "result.role"}
    ),
    # Agents, tools and providers
    "agent.create": AuditRule(target="result.id", facts={"name": "result.name"}),
    "agent.update": AuditRule(target="agent_id", facts={"name": "result.name"}, before=_agent, compare=True),
    "agent.delete": AuditRule(target="agent_id", before=_agent, facts={"name": "before.name"}),
    "agent.assign": AuditRule(target="agent_id", facts={"tool": "name", "approval": "approval"}),
    "agent.unassign": AuditRule(target="agent_id", facts={"tool": "name"}),
    "tool.create": AuditRule(target="tool_id", facts={"name": "name"}),
    "tool.update": AuditRule(
        target="tool_id", facts={"name": "name"}, before=_tool, compare=True, sealed=_new_secrets
    ),
    "tool.delete": AuditRule(target="tool_id", before=_tool, facts={"name": "before.name"}),
    "mcp_server.create": AuditRule(target="server_id", facts={"name": "fields.name"}),
    "mcp_server.update": AuditRule(
        target="server_id",
        facts={"name": "fields.name"},
        before=_mcp_server,
        compare=True,
        sealed=_new_secrets,
    ),
    "mcp_server.delete": AuditRule(target="server_id", before=_mcp_server, facts={"name": "before.name"}),
    "mcp_server.connect": AuditRule(target="server_id", facts={"issuer": "issuer", "for": "owner"}),
    "mcp_server.disconnect": AuditRule(
        target="server_id", facts={"for": "owner"}, when=lambda values: values["result"] is True
    ),
    "mcp_tool.choose": AuditRule(
        target="tool_id",
        facts={
            "tool": "result.tool",
            "enabled": "choice.enabled",
            "effect": "choice.effect",
            "approval": "choice.approval",
            "accepted": "digest",
        },
    ),
    "agent.assign_server": AuditRule(target="agent_id", facts={"server": "server_id", "given": "given"}),
    "provider.create": AuditRule(target="provider_id", facts={"name": "fields.name", "kind": "fields.kind"}),
    "provider.update": AuditRule(
        target="provider_id",
        facts={"name": "fields.name"},
        before=_provider,
        compare=True,
        sealed=_new_key,
    ),
    "provider.delete": AuditRule(target="provider_id", before=_provider, facts={"name": "before.name"}),
    # Calls, sessions and files
    "tool_call.answer": AuditRule(target="", before=_asked, notes=_answers),
    "tool_call.execute": AuditRule(
        target="request.id",
        facts={"tool": "request.tool", "effect": "request.effect"},
        when=lambda values: (
            look("request.effect", values) != "read" and cast("tuple[object, bool]", values["result"])[1]
        ),
    ),
    "session.delete": AuditRule(target="session_id"),
    "session.fork": AuditRule(target="result.id", facts={"from": "result.forked_from"}),
    "session.expire": AuditRule(target="session_id", when=lambda values: values["result"] is True),
    "file.delete": AuditRule(target="file_id"),
    # Memories
    "memory.create": AuditRule(target="result.id", facts={"scope": "result.scope"}),
    "memory.update": AuditRule(target="memory_id", before=_memory, compare=True),
    "memory.delete": AuditRule(target="memory_id"),
    "memory.forget": AuditRule(target="user", facts={"count": "result"}),
    "memory.approve": AuditRule(
        target="result.id", facts={"scope": "result.scope", "suggestion": "suggestion_id"}
    ),
    "memory.approve_all": AuditRule(target="session_id", notes=_approved),
    "memory.reject": AuditRule(target="suggestion_id"),
    # Documents
    "collection.create": AuditRule(target="result.id", facts={"own": "own"}),
    "collection.update": AuditRule(target="collection_id"),
    "collection.delete": AuditRule(target="collection_id"),
    "document.add": AuditRule(
        target="result.document.id",
        facts={"collection": "result.document.collection_id", "source": "result.document.source"},
    ),
    "document.site": AuditRule(target="collection_id"),
    "document.cancel": AuditRule(target="document_id"),
    "document.delete": AuditRule(target="document_id"),
    "job.retry": AuditRule(target="job_id", facts={"kind": "result.kind"}),
}


def expire_session(tenant: str, user: str, session_id: str) -> Plan[bool]:
    """Delete a session after its team's retention time, and audit it without a user."""
    actor = Actor(tenant=tenant, user="", credential="retention")
    return (
        yield from audited(
            "session.expire",
            AUDITED["session.expire"],
            actor,
            {"tenant": tenant, "session_id": session_id},
            lambda: retention.delete_old_session(tenant, user, session_id),
        )
    )
