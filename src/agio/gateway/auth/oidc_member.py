"""Who somebody is here who signed in at an OpenID provider: a member, a newcomer, or nobody.

An account is never found by its e-mail address alone: whoever has one with a password signs in with it first
and links the provider.
"""

from msgspec import Struct

from agio.core.identity.account import Account
from agio.core.identity.principal import Principal
from agio.core.identity.team import Invitation
from agio.core.store.store import Store
from agio.errors import UserError
from agio.gateway.auth.oidc import Person
from agio.protocol.ids import new_id


class Arrived(Struct, frozen=True):
    """The user somebody has become, in the team they come into."""

    tenant: str
    user: str


async def arrive(store: Store, person: Person, invitation: bytes | None = None) -> Arrived:
    """Say who signs in, letting in whoever may come. `invitation` is the hash of a link's token.

    Raises UserError `invitation_not_found`, `invitation_not_yours`, `email_not_verified`, `identity_not_linked`,
    `not_invited`, `no_membership`.
    """
    account = await store.find_identity(person.provider.issuer, person.subject)
    if invitation is not None:
        return await _accept(store, person, account, invitation)
    if account is None:
        return await _join(store, person)
    teams = await store.memberships(account.id)
    if not teams:
        raise UserError("no_membership", "You no longer belong to a team. Ask for an invitation.")
    chosen = next((team for team in teams if team.tenant == person.provider.tenant), teams[0])
    return Arrived(chosen.tenant, chosen.user)


async def link(store: Store, who: Principal, person: Person) -> None:
    """Let whoever is signed in be signed in at the provider too; a user without an account gets one.

    Raises UserError `identity_taken`, `email_not_verified`, `email_taken`.
    """
    issuer, subject = person.provider.issuer, person.subject
    if who.account is not None:
        await store.add_identity(who.account, issuer, subject)
    else:
        account = _new_account(person)
        await store.create_account_by_identity(account, issuer, subject, who.tenant, who.user)


async def confirm(store: Store, who: Principal, person: Person) -> None:
    """See that whoever is signed in is who proved it anew at the provider. Raises UserError `not_confirmed`."""
    account = await store.find_identity(person.provider.issuer, person.subject)
    if account is None or account.id != who.account:
        raise UserError(
            "not_confirmed",
            f"You signed in at {person.provider.name} as a different person.",
            {"reason": "identity"},
        )


async def _accept(store: Store, person: Person, account: Account | None, token_hash: bytes) -> Arrived:
    invitation = await store.find_invitation(token_hash)
    if invitation is None:
        raise UserError("invitation_not_found", "This invitation was used, revoked, or has expired.")
    _check_address(invitation, person)
    try:
        if account is None:
            joined = await store.join_by_invitation(
                token_hash, _new_account(person), person.provider.issuer, person.subject
            )
        else:
            joined = await store.accept_invitation(token_hash, account)
    except UserError as error:
        if account is not None and error.code == "already_member":
            return await _member_of(store, account, invitation.tenant)
        raise _told(error, person) from error
    return Arrived(joined.tenant, joined.user)


async def _join(store: Store, person: Person) -> Arrived:
    tenant = person.provider.tenant
    if tenant is None:
        raise UserError(
            "not_invited",
            "No account matches this sign-in. Ask for an invitation. If you have an account with a password, sign in "
            "with it and link this provider.",
        )
    account, issuer = _new_account(person), person.provider.issuer
    try:
        user = await store.join_by_identity(account, issuer, person.subject, tenant, person.provider.role)
    except UserError as error:
        if await store.find_identity(issuer, person.subject) is not None:
            return await arrive(store, person)  # the same person, in two browsers at once
        raise _told(error, person) from error
    return Arrived(tenant, user)


async def _member_of(store: Store, account: Account, tenant: str) -> Arrived:
    user = next(team.user for team in await store.memberships(account.id) if team.tenant == tenant)
    return Arrived(tenant, user)


def _new_account(person: Person) -> Account:
    return Account(new_id("acc"), _verified(person), person.name, None)


def _verified(person: Person) -> str:
    if person.email is None:
        raise UserError(
            "email_not_verified",
            f"Your email address is not verified at {person.provider.name}. Verify it there first.",
        )
    return person.email


def _check_address(invitation: Invitation, person: Person) -> None:
    if invitation.email is not None and _verified(person) != invitation.email:
        raise UserError("invitation_not_yours", "This invitation is for another email address.")


def _told(error: UserError, person: Person) -> UserError:
    """Return an error in the words of somebody who stands at the door."""
    if error.code != "email_taken":
        return error
    return UserError(
        "identity_not_linked",
        "An account with your email address exists. Sign in to it as before, then link "
        f"{person.provider.name} in your account.",
    )
