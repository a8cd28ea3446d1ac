"""People who come by an OpenID provider: with an invitation, or as a user who had no account so far."""

from agio.core.identity import Account, Membership
from agio.db.plan import Plan
from agio.db.plans.accounts import add_identity, create_account
from agio.db.plans.teams import accept_invitation


def join_by_invitation(token_hash: bytes, account: Account, issuer: str, subject: str) -> Plan[Membership]:
    """Accept an invitation with a new account that is signed in to at an OpenID provider."""
    membership = yield from accept_invitation(token_hash, account)
    yield from add_identity(account.id, issuer, subject)
    return membership


def create_account_by_identity(
    account: Account, issuer: str, subject: str, tenant: str, user: str
) -> Plan[None]:
    """Give a user who has none an account that is signed in to at an OpenID provider."""
    yield from create_account(account, tenant, user)
    yield from add_identity(account.id, issuer, subject)
