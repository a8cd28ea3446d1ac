"""Accounts of people, their memberships, and how they sign in."""

import msgspec

from agio.core.identity.account import Account
from agio.core.identity.email import fold_email
from agio.core.identity.principal import Role
from agio.core.identity.team import Membership
from agio.db.plan import Plan, ask, ask_one
from agio.db.records import now_ms
from agio.db.refusals import tenant_not_found, user_not_found
from agio.db.rows import by_name, to_struct
from agio.errors import UserError
from agio.protocol.ids import new_id


def add_sign_in_link(
    tenant: str, user: str, token_hash: bytes, expires_at: int, made_by: str | None = None
) -> Plan[None]:
    """Keep a link that signs a browser in once; an owner's (`made_by`) replaces the member's earlier ones.

    Raises UserError `user_not_found`, and for an owner's `forbidden`, `member_elsewhere`.
    """
    if (yield from ask_one("get_user", tenant=tenant, user_id=user)) is None:
        raise user_not_found(user)
    if made_by is not None:
        yield from _check_maker(tenant, user, made_by)
        yield from ask("end_sign_in_links", tenant=tenant, user_id=user)
    yield from ask(
        "add_sign_in_link",
        token_hash=token_hash,
        tenant=tenant,
        user_id=user,
        now=now_ms(),
        expires_at=expires_at,
        made_by=made_by,
    )


def take_sign_in_link(token_hash: bytes) -> Plan[tuple[str, str] | None]:
    """Use a one-time link: its tenant and user; None if it was used before or has expired."""
    row = yield from ask_one("take_sign_in_link", token_hash=token_hash)
    if row is None:
        return None
    tenant, user, expires_at, made_by = msgspec.convert(row, tuple[str, str, int, str | None])
    if expires_at <= now_ms() or (yield from ask_one("get_user", tenant=tenant, user_id=user)) is None:
        return None
    if made_by is not None:
        try:  # what was so when it was made may have changed since
            yield from _check_maker(tenant, user, made_by)
        except UserError:
            return None
    return tenant, user


def has_account() -> Plan[bool]:
    """Whether the store has an account."""
    return (yield from ask_one("any_account")) is not None


def create_account(account: Account, tenant: str, user: str) -> Plan[None]:
    """Create the account of a user who has none. Raises UserError `email_taken`, `account_exists`, `user_not_found`."""
    yield from ask("lock_tenant", tenant=tenant)
    if (yield from ask_one("get_user", tenant=tenant, user_id=user)) is None:
        raise user_not_found(user)
    if (yield from ask_one("account_of_user", tenant=tenant, user_id=user)) is not None:
        raise UserError("account_exists", "You already have an account.")
    yield from add_account(account)
    yield from add_membership(account.id, tenant, user)
    yield from ask("rename_users", account_id=account.id, name=account.name)
    yield from ask("end_sign_in_links", tenant=tenant, user_id=user)


def get_account(account_id: str) -> Plan[Account]:
    """Raises UserError `account_not_found`."""
    row = yield from ask_one("get_account", account_id=account_id)
    if row is None:
        raise _account_not_found()
    return to_struct(Account, row)


def find_account(email: str) -> Plan[Account | None]:
    """The account with this e-mail address; case is ignored."""
    row = yield from ask_one("find_account", email=fold_email(email))
    return None if row is None else to_struct(Account, row)


def find_identity(issuer: str, subject: str) -> Plan[Account | None]:
    """The account of a subject at an OpenID provider."""
    row = yield from ask_one("find_identity", issuer=issuer, subject=subject)
    return None if row is None else to_struct(Account, row)


def add_identity(account_id: str, issuer: str, subject: str) -> Plan[None]:
    """Link an account to a subject at an OpenID provider. Raises UserError `identity_taken`, `account_not_found`."""
    yield from get_account(account_id)
    added = yield from ask_one(
        "add_identity", issuer=issuer, subject=subject, account_id=account_id, now=now_ms()
    )
    if added is None:
        raise UserError("identity_taken", "This sign-in belongs to another account, or once did.")


def join_by_identity(account: Account, issuer: str, subject: str, tenant: str, role: Role) -> Plan[str]:
    """Create an account for a new subject of an OpenID provider and a user in the tenant; returns the user's id.

    Raises UserError `email_taken`, `identity_taken`, `tenant_not_found`.
    """
    if (yield from ask_one("get_tenant", tenant=tenant)) is None:
        raise tenant_not_found(tenant)
    yield from add_account(account)
    yield from add_identity(account.id, issuer, subject)
    return (yield from add_user_of(account, tenant, role))


def change_account(account_id: str, name: str, email: str) -> Plan[Account]:
    """Change an account's address, and its name in every team. Raises UserError `account_not_found`, `email_taken`."""
    folded = fold_email(email)
    other = yield from find_account(folded)
    if other is not None and other.id != account_id:
        raise _email_taken()
    row = yield from ask_one("change_account", account_id=account_id, name=name, email=folded, now=now_ms())
    if row is None:
        raise _account_not_found()
    yield from ask("rename_users", account_id=account_id, name=name)
    return to_struct(Account, row)


def set_password(account_id: str, password_hash: str, *, instead_of: str | None = None) -> Plan[None]:
    """Replace an account's password, or only the hash `instead_of`. Raises UserError `account_not_found`."""
    given = {"account_id": account_id, "password_hash": password_hash, "now": now_ms()}
    if instead_of is not None:
        yield from ask("replace_password", instead_of=instead_of, **given)
    elif (yield from ask_one("set_password", **given)) is None:
        raise _account_not_found()


def memberships(account_id: str) -> Plan[list[Membership]]:
    """An account's teams, by name."""
    rows = yield from ask("memberships", account_id=account_id)
    return [to_struct(Membership, row) for row in rows]


def membership_in(account_id: str | None, tenant: str) -> Plan[tuple[Membership, int | None] | None]:
    """An account's membership in a team, and when it was removed from it."""
    row = yield from ask_one("membership_in", account_id=account_id, tenant=tenant)
    if row is None:
        return None
    values = by_name(Membership, row, "removed_at")
    return msgspec.convert(values, Membership), msgspec.convert(values["removed_at"], int | None)


def add_sign_in_flow(state_hash: bytes, flow: bytes, expires_at: int) -> Plan[None]:
    """Store the state of a sign-in at an OpenID provider."""
    yield from ask("add_sign_in_flow", state_hash=state_hash, flow=flow, now=now_ms(), expires_at=expires_at)


def take_sign_in_flow(state_hash: bytes) -> Plan[bytes | None]:
    """Take the state of a sign-in, once; None if it has expired."""
    row = yield from ask_one("take_sign_in_flow", state_hash=state_hash)
    if row is None:
        return None
    flow, expires_at = msgspec.convert(row, tuple[bytes, int])
    return flow if expires_at > now_ms() else None


def add_account(account: Account) -> Plan[None]:
    """Add an account. Raises UserError `email_taken`."""
    added = yield from ask_one(
        "add_account",
        account_id=account.id,
        email=fold_email(account.email),
        name=account.name,
        password_hash=account.password_hash,
        now=now_ms(),
    )
    if added is None:
        raise _email_taken()


def add_user_of(account: Account, tenant: str, role: Role) -> Plan[str]:
    """Add an account to a tenant as a new user; returns the user's id. Raises UserError `already_member`."""
    user = new_id("usr")
    yield from ask("add_user", tenant=tenant, user_id=user, name=account.name, role=role, now=now_ms())
    yield from add_membership(account.id, tenant, user)
    return user


def add_membership(account_id: str, tenant: str, user: str) -> Plan[None]:
    """Link an account to a user of a tenant. Raises UserError `already_member`."""
    added = yield from ask_one(
        "add_membership", account_id=account_id, tenant=tenant, user_id=user, now=now_ms()
    )
    if added is None:
        raise already_member()


def already_member() -> UserError:
    """For an account that is in the team."""
    return UserError("already_member", "You are a member of this team already.")


def _role_of(tenant: str, user: str) -> Plan[object]:
    row = yield from ask_one("get_user", tenant=tenant, user_id=user)
    _, role = (None, None) if row is None else row
    return role


def _check_maker(tenant: str, user: str, made_by: str) -> Plan[None]:
    """Check that an owner may sign a member in: the link's holder could switch to the account's other teams."""
    maker = yield from _role_of(tenant, made_by)
    member = yield from _role_of(tenant, user)
    if maker != "owner":
        raise UserError("forbidden", "Only owners may make sign-in links.", {"needs": "own"})
    if member in (None, "owner"):
        raise UserError(
            "forbidden", "An owner's sign-in link is made on the server: agio keys sign-in --user EMAIL."
        )
    account = yield from ask_one("account_of_user", tenant=tenant, user_id=user)
    if account is not None and len((yield from memberships(str(account[0])))) > 1:
        raise UserError(
            "member_elsewhere",
            "This person is in other teams too, and the link would open those. Ask the operator: agio keys sign-in "
            "--user EMAIL.",
        )


def _email_taken() -> UserError:
    return UserError("email_taken", "An account with this email address already exists. Sign in with it.")


def _account_not_found() -> UserError:
    return UserError("account_not_found", "There is no such account.")
