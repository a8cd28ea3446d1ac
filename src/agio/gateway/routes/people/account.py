"""The caller's identity and account."""

from typing import Self

from fastapi.responses import Response
from msgspec import Struct
from pydantic import ConfigDict, model_validator

from agio.core.identity.account import Account
from agio.core.identity.email import checked_email
from agio.core.identity.principal import Permission, Principal, Role
from agio.errors import UserError
from agio.gateway.auth.passwords import check_new_password
from agio.gateway.auth.revocation import revoke_account, revoke_credential, revoke_user
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.body import Body, Name, any_given
from agio.gateway.routes.people.sign_in import Email, Password, prove
from agio.gateway.routes.people.team import TeamView, team_view, teams_of
from agio.protocol.ids import new_id


class AccountBody(Body):
    """A new account. The password must have at least 12 characters."""

    email: Email
    name: Name
    password: Password


class AccountChange(Body):
    """The fields of an account to change."""

    model_config = ConfigDict(json_schema_extra=any_given(email="string", name="string"))

    email: Email | None = None
    name: Name | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.email is None and self.name is None:
            raise ValueError("send an email or a name")
        return self


class PasswordBody(Body):
    """A password."""

    password: Password


class AccountView(Struct, frozen=True, kw_only=True):
    """An account. Without a password it signs in at an OpenID provider."""

    id: str
    email: str
    name: str
    has_password: bool


class Me(Struct, frozen=True, kw_only=True):
    """The user, team and permissions of a credential."""

    tenant: str
    user: str
    name: str
    role: Role
    permissions: list[Permission]
    account: AccountView | None
    """None: a user who signs in with a link, or a program."""
    authenticated_at: int | None
    """When the person last proved who they are; None for an API key."""
    tenants: list[TeamView]
    """The teams the caller can switch to, this one among them."""
    currency: str
    """The currency of costs, as a three-letter code."""


async def me(call: Call) -> Response:
    """Get the user, team and permissions of the credential."""
    store, who = call.gateway.store, call.who
    name, role = await store.get_user(who.tenant, who.user)
    account = None if who.account is None else account_view(await store.get_account(who.account))
    return answer(
        Me(
            tenant=who.tenant,
            user=who.user,
            name=name,
            role=role,
            permissions=sorted(who.permissions),
            account=account,
            authenticated_at=who.authenticated_at,
            tenants=[team_view(team) for team in await teams_of(call)],
            currency=call.gateway.currency,
        )
    )


async def create_account(call: Call, body: AccountBody) -> Response:
    """Create the signed-in user's account: an e-mail address and a password."""
    who = _in_browser(call)
    if who.account is not None:
        raise UserError("account_exists", "You already have an account.")
    account = await new_account(call, body.email, body.name, body.password)
    await call.gateway.store.create_account(account, who.tenant, who.user)
    call.gateway.auth.forget_user(who.tenant, who.user)
    return answer(account_view(account), 201)


async def get_account(call: Call) -> Response:
    """Get the caller's account."""
    return answer(account_view(await _account(call)))


async def change_account(call: Call, body: AccountChange) -> Response:
    """Change the name or e-mail address of the caller's account."""
    _in_browser(call)
    account = await _account(call)
    email = account.email if body.email is None else checked_email(body.email)
    if email != account.email:
        await _take(call, email)
    changed = await call.gateway.store.change_account(account.id, body.name or account.name, email)
    return answer(account_view(changed))


async def set_password(call: Call, body: PasswordBody) -> Response:
    """Set the caller's password. All their other browsers are signed out."""
    who = _in_browser(call)
    account = await _account(call)
    check_new_password(body.password, account.email)
    await _take(call, account.email)
    await call.gateway.store.set_password(account.id, await call.gateway.passwords.hash(body.password))
    await call.gateway.store.end_web_sessions(account.id, but=who.credential)
    await revoke_account(call.gateway, account.id)
    return Response(status_code=204)


async def confirm_account(call: Call, body: PasswordBody) -> Response:
    """Confirm the password, as sensitive changes require. Valid for 15 minutes."""
    who = _in_browser(call)
    account = await _account(call)
    await prove(call, account.email, body.password)
    await call.gateway.auth.refresh(call.scope["headers"])
    call.gateway.auth.forget(who.credential)
    return Response(status_code=204)


async def sign_out_everywhere(call: Call) -> Response:
    """Sign out all of the caller's browsers, including this one."""
    who = _in_browser(call)
    if who.account is None:
        await call.gateway.store.end_user_sessions(who.tenant, who.user)
        await revoke_user(call.gateway, who.tenant, who.user)
    else:
        await call.gateway.store.end_web_sessions(who.account)
        await revoke_account(call.gateway, who.account)
    await revoke_credential(call.gateway, who.credential)
    cookie = await call.gateway.auth.sign_out(call.scope["headers"])
    return Response(status_code=204, headers={"set-cookie": cookie, "cache-control": "no-store"})


async def new_account(call: Call, email: str, name: str, password: str) -> Account:
    """Return a new account, not yet stored.

    Raises UserError `invalid_email`, `email_taken`, `weak_password`, LimitExceeded `rate_limited`.
    """
    checked = checked_email(email)
    await _take(call, checked)
    if await call.gateway.store.find_account(checked) is not None:
        raise UserError("email_taken", "An account with this email address already exists. Sign in with it.")
    check_new_password(password, checked)
    return Account(new_id("acc"), checked, name, await call.gateway.passwords.hash(password))


def account_view(account: Account) -> AccountView:
    """Show an account."""
    return AccountView(
        id=account.id,
        email=account.email,
        name=account.name,
        has_password=account.password_hash is not None,
    )


async def _take(call: Call, email: str) -> None:
    """Count it as a sign-in attempt, because it reveals whether an account exists or costs a hash. LimitExceeded."""
    await call.gateway.attempts.take("sign_in", call.gateway.addresses.client_of(call.scope), email)


def _in_browser(call: Call) -> Principal:
    """Return the signed-in person. Raises UserError `forbidden` for an API key."""
    if call.who.authenticated_at is None:
        raise UserError("forbidden", "Only a signed-in person can do this, not an API key.")
    return call.who


async def _account(call: Call) -> Account:
    if call.who.account is None:
        raise UserError("account_not_found", "You have no account. Create one: POST /api/account.")
    return await call.gateway.store.get_account(call.who.account)
