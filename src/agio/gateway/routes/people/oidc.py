"""Sign-in at an OpenID provider: the redirect, the callback, and linking it to an account."""

from typing import Annotated, Literal

from fastapi import Query
from fastapi.responses import RedirectResponse, Response
from msgspec import Struct

from agio.core.identity.principal import Principal
from agio.errors import AgioError, UserError
from agio.gateway.auth.oidc import Answer, Begin, Begun, Flow, Person, Purpose, flow_cookie, is_local_path
from agio.gateway.auth.oidc_member import confirm, link, resolve_member
from agio.gateway.http.access import note_actor
from agio.gateway.http.address import network_of
from agio.gateway.http.errors import status_of
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer, refusal
from agio.gateway.pages import page_response
from agio.gateway.routes.people.sign_in import begin_session

ReturnTo = Annotated[
    str,
    Query(
        max_length=2000,
        description="Where to redirect afterwards: a path on this server.",
        json_schema_extra={"pattern": r"^/([!-.0-\[\]-~][!-\[\]-~]*)?$"},
    ),
]
Given = Annotated[str, Query(max_length=4096)]


class SignInStart(Struct, frozen=True):
    """The URL to open in the browser."""

    url: str


class IdentityView(Struct, frozen=True, kw_only=True):
    """An OpenID provider linked to the caller's account."""

    provider: str
    name: str
    linked_at: int


class Identities(Struct, frozen=True):
    """The OpenID providers linked to the caller's account."""

    items: list[IdentityView]


async def begin_sign_in(
    call: Call,
    provider: Id,
    return_to: ReturnTo = "/",
    purpose: Literal["sign_in", "confirm"] = "sign_in",
    invitation: Annotated[str | None, Query(max_length=200, description="An invitation's token.")] = None,
    anew: Annotated[
        bool,
        Query(description="Require a new authentication at the provider, even with an open session there."),
    ] = False,
) -> Response:
    """Redirect the browser to an OpenID provider, to sign in or to confirm the identity."""
    gateway = call.gateway
    address = gateway.addresses.client_of(call.scope)
    back = return_to if is_local_path(return_to) else "/"
    try:
        await gateway.attempts.check("sign_in", address)
        gateway.rates.take("request", f"sign-in from {network_of(address)}")
        who = await _signed_in(call) if purpose == "confirm" else None
        given = Begin(purpose=purpose, return_to=_local(return_to), invitation=invitation, who=who, anew=anew)
        begun = await gateway.oidc.begin(gateway.store, provider, given, call.scope["headers"])
    except AgioError as error:
        return await _failed(call, error, purpose, back)
    return _redirect(begun.url, begun.cookie)


async def finish_sign_in(
    call: Call,
    provider: Id,
    state: Given = "",
    code: Given = "",
    iss: Annotated[str | None, Query(max_length=1000)] = None,
    error: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """Complete a sign-in at an OpenID provider after verifying its response."""
    given = Answer(state=state, code=code, iss=iss, error=error)
    oidc, attempts = call.gateway.oidc, call.gateway.attempts
    address = call.gateway.addresses.client_of(call.scope)
    flow = None
    try:
        await attempts.check("sign_in", address)
        flow = await oidc.take(call.gateway.store, provider, state, call.scope["headers"])
        cookies = await _done(call, flow, await oidc.finish(flow, given))
    except AgioError as failed:
        if failed.code == "invalid_sign_in_state":
            await attempts.take("sign_in", address)  # guessing a state counts like guessing a password
        purpose, back = ("sign_in", "/") if flow is None else (flow.purpose, flow.return_to)
        return await _failed(call, failed, purpose, back)
    return _redirect(flow.return_to, *cookies, flow_cookie("", 0))


async def link_identity(call: Call, provider: Id, return_to: ReturnTo = "/") -> Response:
    """Start linking an OpenID provider to the caller's account. Returns the URL to open."""
    call.gateway.oidc.find(provider)
    given = Begin(purpose="link", return_to=_local(return_to), who=await _signed_in(call))
    begun: Begun = await call.gateway.oidc.begin(call.gateway.store, provider, given, call.scope["headers"])
    response = answer(SignInStart(begun.url))
    response.headers.append("set-cookie", begun.cookie)
    return response


async def list_identities(call: Call) -> Response:
    """List the OpenID providers linked to the caller's account."""
    linked = [] if call.who.account is None else await call.gateway.store.list_identities(call.who.account)
    since = {identity.issuer: identity.created_at for identity in linked}
    providers = [call.gateway.oidc.find(provider) for provider, _ in call.gateway.oidc.listed()]
    return answer(
        Identities(
            [
                IdentityView(provider=one.id, name=one.name, linked_at=since[one.issuer])
                for one in providers
                if one.issuer in since
            ]
        )
    )


async def unlink_identity(call: Call, provider: Id) -> Response:
    """Unlink an OpenID provider from the caller's account."""
    found = call.gateway.oidc.find(provider)
    who = await _signed_in(call)
    if who.account is None:
        raise UserError("identity_not_found", "This sign-in is not linked to your account.")
    await call.gateway.store.remove_identity(who.account, found.issuer)
    return Response(status_code=204)


async def _done(call: Call, flow: Flow, person: Person) -> list[str]:
    """Complete the flow for its purpose. Returns the cookies to set."""
    store, auth = call.gateway.store, call.gateway.auth
    if flow.purpose == "sign_in":
        token = None if flow.invitation is None else bytes.fromhex(flow.invitation)
        member = await resolve_member(store, person, token)
        return [await begin_session(call, member.tenant, member.user, person.authenticated_at)]
    who = await _same(call, flow)
    if flow.purpose == "link":
        await link(store, who, person)
    else:
        await confirm(store, who, person)
        await auth.refresh(call.scope["headers"])
    auth.forget_user(who.tenant, who.user)
    return []


async def _signed_in(call: Call) -> Principal:
    """Return the user of the cookie; an API key is refused.

    Raises UserError `unauthenticated`, `forbidden`.
    """
    try:
        who = await call.gateway.auth.identify(call.scope["headers"])
    except UserError as error:
        if error.code != "unauthenticated":
            raise
        raise UserError(error.code, "You are no longer signed in. Sign in, then start again.") from error
    if who.authenticated_at is None:
        raise UserError("forbidden", "Only a signed-in person can do this, not an API key.")
    return who


async def _same(call: Call, flow: Flow) -> Principal:
    """Return the signed-in user who began the flow. Raises UserError `unauthenticated`, `invalid_sign_in_state`."""
    who = await _signed_in(call)
    if who.credential != flow.credential:
        raise UserError(
            "invalid_sign_in_state",
            "A different person has signed in to this browser. Start again.",
            {"reason": "session"},
        )
    note_actor(who)
    return who


def _local(path: str) -> str:
    if not is_local_path(path):
        raise UserError("invalid_query", "return_to must be a path on this server, such as /agents.")
    return path


def _redirect(url: str, *cookies: str) -> Response:
    response = RedirectResponse(url, 303, {"cache-control": "no-store", "referrer-policy": "no-referrer"})
    for cookie in cookies:
        response.headers.append("set-cookie", cookie)
    return response


async def _failed(call: Call, error: AgioError, purpose: Purpose, return_to: str) -> Response:
    """Return the error: for a browser as a page with a way to continue, for a program as JSON."""
    if "text/html" not in call.headers.get("accept", ""):
        return refusal(error)
    signed_in = await call.gateway.auth.browser(call.scope["headers"]) is not None
    way_on = {"purpose": purpose, "return_to": return_to, "signed_in": signed_in}
    return page_response(status_of(error), error, way_on)
