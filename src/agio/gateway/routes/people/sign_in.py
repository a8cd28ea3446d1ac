"""Signing in, with a password or the one-time link, and signing out."""

import asyncio
import logging
from typing import Annotated, TypeAlias

from fastapi import Query
from fastapi.responses import RedirectResponse, Response
from msgspec import Struct
from pydantic import Field

from agio.core.identity.account import Account
from agio.core.identity.email import fold_email
from agio.core.store.store import Store
from agio.errors import UserError
from agio.gateway.auth.passwords import MAX_CHARS
from agio.gateway.auth.revocation import revoke_credential
from agio.gateway.http.route import Call, answer
from agio.gateway.pages import page_response
from agio.gateway.routes.body import Body
from agio.gateway.routes.people.team import team_view

Email: TypeAlias = Annotated[str, Field(min_length=3, max_length=254)]
Password: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]

_log = logging.getLogger("agio.gateway")
_noting: set[asyncio.Future[None]] = set()
_LINK_OVER = UserError(
    "sign_in_link_over",
    "This sign-in link was already used or is older than a day. Ask an owner of your team for a new one, "
    "or create one on the server: `agio keys sign-in`.",
)


class SignInBody(Body):
    """An e-mail address and a password."""

    email: Email
    password: Password


class SignInProvider(Struct, frozen=True):
    """An OpenID provider for sign-in: send the browser to `url`."""

    id: str
    name: str
    url: str


class SignInMethods(Struct, frozen=True):
    """The ways to sign in. `password` is false until the first account exists."""

    password: bool
    providers: list[SignInProvider]


async def sign_in_methods(call: Call) -> Response:
    """List the ways to sign in."""
    providers = [
        SignInProvider(provider, name, f"/sign-in/oidc/{provider}")
        for provider, name in call.gateway.oidc.listed()
    ]
    return answer(SignInMethods(await call.gateway.store.has_account(), providers))


async def sign_in_with_password(call: Call, body: SignInBody) -> Response:
    """Sign a browser in with an e-mail address and a password."""
    call.gateway.auth.check_origin("POST", call.scope["headers"])
    account = await prove(call, fold_email(body.email), body.password)
    teams = await call.gateway.store.memberships(account.id)
    if not teams:
        raise UserError("no_membership", "You no longer belong to a team. Ask for an invitation.")
    response = answer(team_view(teams[0]))
    response.headers["set-cookie"] = await begin_session(call, teams[0].tenant, teams[0].user)
    return response


async def sign_in(call: Call, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Sign a browser in with a one-time link; without a token, show the sign-in page."""
    gateway = call.gateway
    if not token:
        return page_response()
    await gateway.attempts.check("sign_in", gateway.addresses.client_of(call.scope))
    cookie = await gateway.auth.sign_in(token)
    if cookie is None:
        await gateway.attempts.take("sign_in", gateway.addresses.client_of(call.scope))
        return page_response(403, _LINK_OVER)
    await _end_session(call)
    return RedirectResponse("/set-up", 303, {"set-cookie": cookie, "cache-control": "no-store"})


async def sign_out(call: Call) -> Response:
    """Sign the browser out and end its session."""
    call.gateway.auth.check_origin("POST", call.scope["headers"])
    cookie = await _end_session(call)
    return Response(status_code=204, headers={"set-cookie": cookie, "cache-control": "no-store"})


async def prove(call: Call, email: str, password: str) -> Account:
    """Return the account of an email address and password.

    Every failure takes the same work and gives the same error. Raises UserError `wrong_credentials`, LimitExceeded
    `rate_limited`.
    """
    gateway = call.gateway
    await gateway.attempts.take("sign_in", gateway.addresses.client_of(call.scope), email)
    account = await gateway.store.find_account(email)
    kept = None if account is None else account.password_hash
    good = await gateway.passwords.verify(kept, password)
    if account is None or kept is None or not good:
        if account is not None:
            _note_failure(gateway.store, account.id)
        raise UserError("wrong_credentials", "Wrong email or password.")
    if gateway.passwords.is_outdated(kept):
        anew = await gateway.passwords.hash(password)
        await gateway.store.set_password(account.id, anew, instead_of=kept)
    return account


def _note_failure(store: Store, account_id: str) -> None:
    """Record the failure in the account's teams, in the background: the response time must not reveal the account."""
    noting = asyncio.ensure_future(store.note_failed_sign_in(account_id))
    _noting.add(noting)
    noting.add_done_callback(_noted)


def _noted(noting: "asyncio.Future[None]") -> None:
    _noting.discard(noting)
    if not noting.cancelled() and (error := noting.exception()) is not None:
        _log.warning("a failed sign-in could not be recorded: %s", error)


async def begin_session(call: Call, tenant: str, user: str, authenticated_at: int | None = None) -> str:
    """Start a browser session under a new secret and end the previous one. Returns the cookie."""
    cookie = await call.gateway.auth.open_session(tenant, user, authenticated_at)
    await _end_session(call)
    return cookie


async def _end_session(call: Call) -> str:
    who = await call.gateway.auth.browser(call.scope["headers"])
    cookie = await call.gateway.auth.sign_out(call.scope["headers"])
    if who is not None:
        await revoke_credential(call.gateway, who.credential)
    return cookie
