"""Tenants, users, API keys and web sessions."""

from collections.abc import Sequence

import msgspec

from agio.core.identity.principal import (
    DEFAULT_TENANT,
    PERMISSIONS,
    ApiKey,
    Permission,
    Principal,
    Role,
    WebSession,
)
from agio.core.identity.team import Membership, TenantRecord
from agio.core.store.jobs import Completion
from agio.db.plan import Plan, Row, ask, ask_one
from agio.db.plans.jobs.jobs import finish_job
from agio.db.plans.people.accounts import membership_in
from agio.db.records import decode_names, encode_names, now_ms
from agio.db.refusals import tenant_not_found, user_not_found
from agio.db.rows import Columns, as_row, by_name, to_struct
from agio.errors import UserError

NOTED_EVERY_MS = 60_000
"""The least interval between two updates of a key's last use."""
KEPT_MS = 7 * 24 * 3600 * 1000
"""How long an idempotency key, and a job that is done, is remembered."""
FORKED_WITHIN_MS = 3600 * 1000
"""An unfinished copy of a session is deleted after this time."""


class _PrincipalRow(Columns, frozen=True):
    """`key_principal` and `browser_principal`."""

    tenant: str
    user: str
    role: Role
    credential: str
    permissions: str | None
    account: str | None
    authenticated_at: int | None
    last_used_at: int | None


def add_tenant(tenant: str, name: str) -> Plan[None]:
    """Add a tenant unless its id exists."""
    yield from ask("add_tenant", tenant=tenant, name=name, now=now_ms())


def get_tenant(tenant: str) -> Plan[TenantRecord]:
    """Raises UserError `tenant_not_found`."""
    row = yield from ask_one("get_tenant", tenant=tenant)
    if row is None:
        raise tenant_not_found(tenant)
    return to_struct(TenantRecord, row)


def add_user(tenant: str, user: str, name: str, role: Role) -> Plan[None]:
    """Add a user unless its id exists."""
    yield from ask("add_user", tenant=tenant, user_id=user, name=name, role=role, now=now_ms())


def get_user(tenant: str, user: str) -> Plan[tuple[str, Role]]:
    """A user's name and role. Raises UserError `user_not_found`."""
    row = yield from ask_one("get_user", tenant=tenant, user_id=user)
    if row is None:
        raise user_not_found(user)
    return msgspec.convert(row, tuple[str, Role])


def add_api_key(key: ApiKey, key_hash: bytes, *, only_first: bool = False) -> Plan[bool]:
    """Store a key, unless the key that makes it was revoked; with `only_first` only if the store has no key.

    Returns whether it was stored.
    """
    if only_first and (yield from ask_one("any_api_key")) is not None:
        return False
    if key.made_by is not None:
        maker = yield from ask_one("lock_maker", id=key.made_by, tenant=key.tenant)
        if maker is None:
            return False
    added = yield from ask_one(
        "add_api_key",
        id=key.id,
        tenant=key.tenant,
        user_id=key.user,
        name=key.name,
        prefix=key.prefix,
        hash=key_hash,
        created_at=key.created_at,
        permissions=None if key.permissions is None else encode_names(sorted(key.permissions)),
        expires_at=key.expires_at,
        made_by=key.made_by,
    )
    return added is not None


def list_api_keys(tenant: str, user: str | None) -> Plan[list[ApiKey]]:
    """A user's keys, or all of the tenant's for None, newest first, with revoked ones."""
    if user is None:
        rows = yield from ask("list_tenant_api_keys", tenant=tenant)
    else:
        rows = yield from ask("list_api_keys", tenant=tenant, user_id=user)
    return [_api_key(row) for row in rows]


def revoke_api_key(tenant: str, user: str, key_id: str) -> Plan[list[str]]:
    """Revoke a key and, recursively, the keys it made. Returns their ids. Raises UserError `key_not_found`."""
    now = now_ms()
    row = yield from ask_one("revoke_api_key", id=key_id, tenant=tenant, user_id=user, now=now)
    if row is None:
        raise UserError("key_not_found", f"There is no key {key_id}.", {"key_id": key_id})
    revoked = [key_id]
    # Repeat until no row is left: a key that was being made becomes visible after its maker's row lock is free.
    while rows := (yield from ask("revoke_made_keys", id=key_id, tenant=tenant, now=now)):
        revoked += [msgspec.convert(made, str) for (made,) in rows]
    return revoked


def find_api_key(key_hash: bytes) -> Plan[tuple[Principal, int | None] | None]:
    """The principal of a key and the time of its last noted use; None if it is unknown, revoked or expired."""
    row = yield from ask_one("find_api_key", hash=key_hash, now=now_ms())
    if row is None:
        return None
    found = as_row(_PrincipalRow, row)
    return _principal(found), found.last_used_at


def note_api_key(key_hash: bytes) -> Plan[None]:
    """Update the time of a key's last use."""
    yield from ask("note_api_key", hash=key_hash, now=now_ms())


def add_web_session(session: WebSession) -> Plan[None]:
    """Store a browser's session."""
    yield from ask(
        "add_web_session",
        id=session.id,
        tenant=session.tenant,
        user_id=session.user,
        token_hash=session.token_hash,
        now=now_ms(),
        authenticated_at=session.authenticated_at,
        expires_at=session.expires_at,
    )


def find_web_session(token_hash: bytes) -> Plan[Principal | None]:
    """The principal of a browser's session; None if it has expired."""
    row = yield from ask_one("find_web_session", token_hash=token_hash, now=now_ms())
    return None if row is None else _principal(as_row(_PrincipalRow, row))


def end_web_session(token_hash: bytes) -> Plan[None]:
    """End a browser's session."""
    yield from ask("end_web_session", token_hash=token_hash)


def refresh_web_session(token_hash: bytes) -> Plan[None]:
    """Record a fresh authentication in a browser's session."""
    yield from ask("refresh_web_session", token_hash=token_hash, now=now_ms())


def switch_tenant(token_hash: bytes, tenant: str, session_id: str, new_hash: bytes) -> Plan[Membership]:
    """Replace a browser's session by one in another tenant of its account. UserError `tenant_not_found`."""
    known = yield from find_web_session(token_hash)
    account = None if known is None else known.account
    membership, removed_at = (yield from membership_in(account, tenant)) or (None, None)
    if membership is None or removed_at is not None:
        raise tenant_not_found(tenant)
    ended = yield from ask_one("end_web_session", token_hash=token_hash)
    if ended is None:
        raise tenant_not_found(tenant)
    authenticated_at, expires_at = msgspec.convert(ended, tuple[int, int])
    yield from add_web_session(
        WebSession(
            id=session_id,
            tenant=tenant,
            user=membership.user,
            token_hash=new_hash,
            authenticated_at=authenticated_at,
            expires_at=expires_at,
        )
    )
    return membership


def end_web_sessions(account_id: str, *, but: str | None = None) -> Plan[int]:
    """End an account's sessions in all browsers except `but`; returns how many."""
    return len((yield from ask("end_web_sessions", account_id=account_id, but=but or "")))


def end_user_sessions(tenant: str, user: str) -> Plan[int]:
    """End a user's sessions in all browsers; returns how many."""
    return len((yield from ask("end_user_sessions", tenant=tenant, user_id=user)))


def find_credentials(ids: Sequence[str]) -> Plan[list[Principal]]:
    """The principals of those API keys and web sessions (by id) that are valid now."""
    rows = yield from ask("find_credentials", ids=list(ids), now=now_ms())
    return [_principal(as_row(_PrincipalRow, row)) for row in rows]


def sweep(*, job: Completion | None = None) -> Plan[None]:
    """Delete old idempotency keys and jobs, expired web sessions and sign-ins, and unfinished copies."""
    yield from finish_job(job)
    now = now_ms()
    yield from ask("sweep_keys", until=now - KEPT_MS)
    yield from ask("sweep_tool_requests", until=now - KEPT_MS)
    yield from ask("sweep_web_sessions", now=now)
    yield from ask("sweep_sign_in_links", now=now)
    yield from ask("sweep_sign_in_flows", now=now)
    yield from ask("sweep_forks", until=now - FORKED_WITHIN_MS)
    yield from ask("sweep_jobs", until=now - KEPT_MS)
    yield from ask("sweep_leases", until=now - KEPT_MS)
    yield from ask("sweep_gateways", until=now - KEPT_MS)
    yield from ask("sweep_attempts", now=now)


def touch_store() -> Plan[None]:
    """Check that the store can be written."""
    yield from ask("touch_store", tenant=DEFAULT_TENANT)


def _api_key(row: Row) -> ApiKey:
    values = by_name(ApiKey, row)
    if values["permissions"] is not None:
        values["permissions"] = decode_names(msgspec.convert(values["permissions"], str))
    return msgspec.convert(values, ApiKey)


def _principal(row: _PrincipalRow) -> Principal:
    permissions = PERMISSIONS[row.role]
    if row.permissions is not None:
        permissions &= msgspec.convert(decode_names(row.permissions), frozenset[Permission])
    return Principal(
        row.tenant, row.user, row.role, row.credential, permissions, row.account, row.authenticated_at
    )
