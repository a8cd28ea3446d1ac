"""Teams: members, their roles, and invitations."""

from agio.core.identity.account import Account
from agio.core.identity.email import fold_email
from agio.core.identity.principal import PERMISSIONS, Role
from agio.core.identity.team import Invitation, Member, Membership, SdkSessions, TenantRecord
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.memories.memories import forget_user
from agio.db.plans.people.accounts import add_account, add_user_of, already_member, membership_in
from agio.db.plans.people.identity import get_tenant
from agio.db.records import now_ms
from agio.db.refusals import tenant_not_found, user_not_found
from agio.db.rows import to_struct
from agio.errors import UserError
from agio.protocol.ids import new_id


def create_tenant(name: str, account_id: str | None, owner_name: str) -> Plan[Membership]:
    """Add a tenant and its first owner, who belongs to the account if one is given."""
    tenant, user, now = new_id("ten"), new_id("usr"), now_ms()
    yield from ask("add_tenant", tenant=tenant, name=name, now=now)
    yield from ask("add_user", tenant=tenant, user_id=user, name=owner_name, role="owner", now=now)
    if account_id is not None:
        yield from ask("add_membership", account_id=account_id, tenant=tenant, user_id=user, now=now)
    return Membership(tenant, name, user, "owner")


def rename_tenant(tenant: str, name: str) -> Plan[TenantRecord]:
    """Raises UserError `tenant_not_found`."""
    row = yield from ask_one("rename_tenant", tenant=tenant, name=name)
    if row is None:
        raise tenant_not_found(tenant)
    return to_struct(TenantRecord, row)


def set_sdk_sessions(tenant: str, needs: SdkSessions) -> Plan[TenantRecord]:
    """Set the permission that describing an agent for a session needs. Raises UserError `tenant_not_found`."""
    yield from ask("set_sdk_sessions", tenant=tenant, needs=needs)
    return (yield from get_tenant(tenant))


def list_members(tenant: str) -> Plan[list[Member]]:
    """A tenant's users, by name."""
    rows = yield from ask("list_members", tenant=tenant)
    return [to_struct(Member, row) for row in rows]


def set_role(
    tenant: str, user: str, role: Role, *, by_owner: bool = True, by: str | None = None
) -> Plan[Member]:
    """Change a user's role. Raises UserError `user_not_found`, `last_owner`, `forbidden`."""
    by_owner = yield from _acts_as_owner(tenant, by, by_owner=by_owner)
    member = yield from _changeable(tenant, user, by_owner=by_owner, stays_owner=role == "owner")
    if role == "owner" and not by_owner:
        raise _forbidden()
    yield from ask("set_role", tenant=tenant, user_id=user, role=role)
    if PERMISSIONS[role] < PERMISSIONS[member.role]:
        yield from ask("revoke_user_invitations", tenant=tenant, user_id=user, now=now_ms())
    return Member(member.user, member.name, role, member.email, member.created_at)


def remove_member(tenant: str, user: str, *, by_owner: bool = True, by: str | None = None) -> Plan[None]:
    """Remove a user from a team. Raises UserError `user_not_found`, `last_owner`, `forbidden`."""
    by_owner = yield from _acts_as_owner(tenant, by, by_owner=by_owner)
    yield from _changeable(tenant, user, by_owner=by_owner, stays_owner=False)
    now = now_ms()
    yield from ask("remove_user", tenant=tenant, user_id=user, now=now)
    yield from ask("revoke_user_keys", tenant=tenant, user_id=user, now=now)
    yield from ask("revoke_user_invitations", tenant=tenant, user_id=user, now=now)
    yield from ask("end_user_sessions", tenant=tenant, user_id=user)
    yield from ask("end_sign_in_links", tenant=tenant, user_id=user)
    yield from ask("delete_secrets_of_member_connections", tenant=tenant, user_id=user)
    yield from ask("delete_member_connections", tenant=tenant, user_id=user)
    yield from forget_user(tenant, user)


def add_invitation(invitation: Invitation, token_hash: bytes) -> Plan[None]:
    """Store an invitation. Raises UserError `forbidden` if the inviting user has lost the right."""
    by_owner = yield from _acts_as_owner(invitation.tenant, invitation.invited_by)
    if invitation.role == "owner" and not by_owner:
        raise _forbidden()
    yield from ask(
        "add_invitation",
        id=invitation.id,
        tenant=invitation.tenant,
        email=None if invitation.email is None else fold_email(invitation.email),
        role=invitation.role,
        token_hash=token_hash,
        invited_by=invitation.invited_by,
        created_at=invitation.created_at,
        expires_at=invitation.expires_at,
    )


def list_invitations(tenant: str) -> Plan[list[Invitation]]:
    """A tenant's invitations, newest first, with closed ones."""
    rows = yield from ask("list_invitations", tenant=tenant)
    return [to_struct(Invitation, row) for row in rows]


def find_invitation(token_hash: bytes) -> Plan[Invitation | None]:
    """The open invitation of a link's token."""
    row = yield from ask_one("find_invitation", token_hash=token_hash, now=now_ms())
    return None if row is None else to_struct(Invitation, row)


def revoke_invitation(tenant: str, invitation_id: str) -> Plan[None]:
    """Raises UserError `invitation_not_found`."""
    if (yield from ask_one("revoke_invitation", tenant=tenant, id=invitation_id, now=now_ms())) is None:
        raise _invitation_not_found()


def accept_invitation(token_hash: bytes, account: Account) -> Plan[Membership]:
    """Add an account to the team, and create it if its id is new. An invitation is accepted once."""
    invitation = yield from find_invitation(token_hash)
    if invitation is None:
        raise _invitation_not_found()
    known = yield from ask_one("get_account", account_id=account.id)
    if known is None:
        yield from add_account(account)
    else:
        account = to_struct(Account, known)
    if invitation.email not in (None, fold_email(account.email)):
        raise UserError("invitation_not_yours", "This invitation is for another email address.")
    membership = yield from _join(account, invitation)
    taken = yield from ask_one(
        "take_invitation", token_hash=token_hash, user_id=membership.user, now=now_ms()
    )
    if taken is None:
        raise _invitation_not_found()
    return membership


def _join(account: Account, invitation: Invitation) -> Plan[Membership]:
    tenant, role = invitation.tenant, invitation.role
    yield from ask("lock_tenant", tenant=tenant)
    before = yield from membership_in(account.id, tenant)
    if before is None:
        yield from add_user_of(account, tenant, role)
    else:
        known, removed_at = before
        if removed_at is None:
            raise already_member()
        yield from ask("reinstate_user", tenant=tenant, user_id=known.user, role=role, name=account.name)
    joined = yield from membership_in(account.id, tenant)
    if joined is None:
        raise tenant_not_found(tenant)
    membership, _ = joined
    return membership


def _changeable(tenant: str, user: str, *, by_owner: bool, stays_owner: bool) -> Plan[Member]:
    """A member that the actor may change or remove. Raises UserError `forbidden`, `last_owner`, `user_not_found`."""
    row = yield from ask_one("get_member", tenant=tenant, user_id=user)
    if row is None:
        raise user_not_found(user)
    member = to_struct(Member, row)
    if member.role == "owner" and not by_owner:
        raise _forbidden()
    leaves = member.role == "owner" and not stays_owner
    if leaves and (yield from ask_one("other_owner", tenant=tenant, but=user)) is None:
        raise UserError("last_owner", "A team needs an owner. Make another member an owner first.")
    return member


def _acts_as_owner(tenant: str, by: str | None, *, by_owner: bool = True) -> Plan[bool]:
    """Whether the actor is an owner, read under the tenant's lock: `by` may have lost the right since authorisation.

    Raises UserError `forbidden`.
    """
    yield from ask("lock_tenant", tenant=tenant)
    if by is None:
        return by_owner
    row = yield from ask_one("get_user", tenant=tenant, user_id=by)
    _, role = (None, None) if row is None else row
    if role not in ("owner", "admin"):
        raise UserError("forbidden", "You may not manage this team any more.", {"needs": "manage"})
    return by_owner and role == "owner"


def _forbidden() -> UserError:
    return UserError("forbidden", "Only owners may make, change or remove owners.", {"needs": "own"})


def _invitation_not_found() -> UserError:
    return UserError("invitation_not_found", "This invitation was used, revoked, or has expired.")
