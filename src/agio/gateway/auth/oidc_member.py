"""Maps a person who signed in at an OpenID provider to a member, or lets a new one join.

An account is never found by its email address alone: a person who has one with a password signs in with it first and
links the provider.
"""

from msgspec import Struct

from agio.core.identity.account import Account
from agio.core.identity.principal import Principal
from agio.core.identity.team import Invitation
from agio.core.store.store import Store
from agio.errors import UserError
from agio.gateway.auth.oidc import Person
from agio.protocol.ids import new_id


class SignedInMember(Struct, frozen=True):
    """The user and team of a completed sign-in."""

    tenant: str
    user: str


async def resolve_member(store: Store, person: Person, invitation: bytes | None = None) -> SignedInMember:
    """Return the member who signs in; a new person may join. `invitation` is the hash of a link's token.

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
    return SignedInMember(chosen.tenant, chosen.user)


async def link(store: Store, who: Principal, person: Person) -> None:
    """Link the provider to the signed-in user's account; a user without an account gets one.

    Raises UserError `identity_taken`, `email_not_verified`, `email_taken`.
    """
    issuer, subject = person.provider.issuer, person.subject
    if who.account is not None:
        await store.add_identity(who.account, issuer, subject)
    else:
        account = _new_account(person)
        await store.create_account_by_identity(account, issuer, subject, who.tenant, who.user)


async def confirm(store: Store, who: Principal, person: Person) -> None:
    """Raise UserError `not_confirmed` unless the signed-in user is the person who authenticated at the provider."""
    account = await store.find_identity(person.provider.issuer, person.subject)
    if account is None or account.id != who.account:
        raise UserError(
            "not_confirmed",
            f"You signed in at {person.provider.name} as a different person.",
            {"reason": "identity"},
        )


async def _accept(store: Store, person: Person, account: Account | None, token_hash: bytes) -> SignedInMember:
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
        raise _for_person(error, person) from error
    return SignedInMember(joined.tenant, joined.user)


async def _join(store: Store, person: Person) -> SignedInMember:
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
            return await resolve_member(store, person)  # the same person, in two browsers at once
        raise _for_person(error, person) from error
    return SignedInMember(tenant, user)


async def _member_of(store: Store, account: Account, tenant: str) -> SignedInMember:
    user = next(team.user for team in await store.memberships(account.id) if team.tenant == tenant)
    return SignedInMember(tenant, user)


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


def _for_person(error: UserError, person: Person) -> UserError:
    """Return the store's error as the person signing in needs it."""
    if error.code != "email_taken":
        return error
    return UserError(
        "identity_not_linked",
        "An account with your email address exists. Sign in to it as before, then link "
        f"{person.provider.name} in your account.",
    )
