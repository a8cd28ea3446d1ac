"""Sign-in at an OpenID provider: by invitation, or as a user without an account."""

from agio.core.identity.account import Account, Identity
from agio.core.identity.team import Membership
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.people.accounts import add_identity, create_account
from agio.db.plans.people.teams import accept_invitation
from agio.db.records import now_ms
from agio.db.rows import to_struct
from agio.errors import UserError


def join_by_invitation(token_hash: bytes, account: Account, issuer: str, subject: str) -> Plan[Membership]:
    """Accept an invitation with a new account that is linked to an OpenID provider."""
    membership = yield from accept_invitation(token_hash, account)
    yield from add_identity(account.id, issuer, subject)
    return membership


def create_account_by_identity(
    account: Account, issuer: str, subject: str, tenant: str, user: str
) -> Plan[None]:
    """Create the account of a user who has none, linked to an OpenID provider."""
    yield from create_account(account, tenant, user)
    yield from add_identity(account.id, issuer, subject)


def list_identities(account_id: str) -> Plan[list[Identity]]:
    """The OpenID subjects of an account, by issuer."""
    rows = yield from ask("list_identities", account_id=account_id)
    return [to_struct(Identity, row) for row in rows]


def remove_identity(account_id: str, issuer: str) -> Plan[None]:
    """Unlink an account from an OpenID provider. UserError `identity_not_found`, `last_sign_in`."""
    locked = yield from ask_one("lock_account", account_id=account_id)
    if locked is None or not (
        yield from ask("remove_identities", account_id=account_id, issuer=issuer, now=now_ms())
    ):
        raise UserError("identity_not_found", "This sign-in is not linked to your account.")
    if locked[0] is None and not (yield from list_identities(account_id)):
        raise UserError(
            "last_sign_in", "You could not sign in any more: set a password, or link another sign-in."
        )
