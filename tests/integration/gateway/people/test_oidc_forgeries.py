"""What an OpenID provider, or somebody who pretends to be one, could answer with: nothing false signs anybody in."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

import httpx
import pytest
from msgspec.structs import replace

from agio.core.identity.oidc import OidcProvider
from agio.gateway.auth import oidc_client
from agio.gateway.auth.authenticator import COOKIE, SignInLink, hash_secret
from tests.integration.gateway.accounts import OURS, PASSWORD, add_account, browser, sign_in
from tests.integration.gateway.people.forger import (
    CLIENT_ID,
    Forger,
    forger,
    install,
    jwk_of,
    public_pem,
    sealed_by_hand,
)
from tests.support.house import House, code_of, house

MINUTE = 60
WaySignedIn: TypeAlias = Callable[[Forger, House], Awaitable[httpx.Response]]
LIKE = OidcProvider(
    id="",
    name="",
    issuer="",
    client_id=CLIENT_ID,
    client_secret="s:1 ü",
    tenant="default",
    domains=["example.com"],
    claims={"team": "red"},
)
NONE: dict[str, str] = {}
BIG = b'{"keys": [' + b" " * (2 * 1024 * 1024) + b"]}"


def _say(**claims: object) -> Callable[[Forger], None]:
    """Let the ID token say something else."""
    return lambda one: one.claims.update(claims)


def _describe(**metadata: object) -> Callable[[Forger], None]:
    """Let the metadata say something else."""
    return lambda one: one.metadata.update(metadata)


def _set(**attributes: object) -> Callable[[Forger], None]:
    def change(one: Forger) -> None:
        for name, value in attributes.items():
            setattr(one, name, value)

    return change


def _unsigned(one: Forger) -> None:
    one.metadata["id_token_signing_alg_values_supported"] = ["RS256", "none"]
    one.token = sealed_by_hand({"alg": "none"}, one.said(), None)


def _public_key_as_secret(one: Forger) -> None:
    one.metadata["id_token_signing_alg_values_supported"] = ["RS256", "HS256"]
    one.token = sealed_by_hand({"alg": "HS256", "kid": "key-0"}, one.said(), public_pem(0))


def _client_secret_as_key(one: Forger) -> None:
    one.metadata["id_token_signing_alg_values_supported"] = ["HS256"]
    one.token = sealed_by_hand({"alg": "HS256"}, one.said(), "s:1 ü".encode())


def _changed_afterwards(one: Forger) -> None:
    honest = one.id_token().split(".")
    one.claims["sub"] = "somebody-else"
    one.token = ".".join([honest[0], one.id_token().split(".")[1], honest[2]])


def _key_in_the_token(one: Forger) -> None:
    one.signer = 1
    one.header = {"jwk": jwk_of(1), "jku": f"{one.url}/jwks", "kid": "key-0"}


def _stranger_in_userinfo(one: Forger) -> None:
    one.metadata["userinfo_endpoint"] = f"{one.url}/userinfo"
    one.claims |= {"email": None, "email_verified": None}
    one.userinfo = {"sub": "somebody-else", "email": "ann@example.com", "email_verified": True}


def _fields(**jwk: object) -> bytes:
    return json.dumps({"keys": [{**jwk_of(0), **jwk}]}).encode()


NOW = int(time.time())
TOKENS: dict[str, tuple[Callable[[Forger], None], str]] = {
    "of another issuer": (_say(iss="https://evil.example"), "issuer"),
    "of an issuer with a slash": (_say(iss="http://127.0.0.1/"), "issuer"),
    "for somebody else": (_say(aud="another"), "audience"),
    "for nobody": (_say(aud=[]), "aud"),
    "for two, made for nobody": (_say(aud=[CLIENT_ID, "another"]), "azp"),
    "for two, made for the other": (_say(aud=[CLIENT_ID, "another"], azp="another"), "azp"),
    "for us, made for another": (_say(azp="another"), "azp"),
    "that is over": (_say(iat=NOW - 3600, exp=NOW - 2 * MINUTE), "expired"),
    "without an end": (_say(exp=None), "exp"),
    "of the future": (_say(iat=NOW + 3600, exp=NOW + 7200), "not_yet_valid"),
    "not valid yet": (_say(nbf=NOW + 3600), "not_yet_valid"),
    "without a time": (_say(iat=None), "iat"),
    "without a signature": (_unsigned, "algorithm"),
    "sealed with the public key": (_public_key_as_secret, "algorithm"),
    "sealed with the client's secret": (_client_secret_as_key, "algorithm"),
    "of a key that is not published": (_set(signer=1), "key"),
    "of another key of the same name": (_set(signer=1, header={"kid": "key-0"}), "signature"),
    "that brings its own key": (_key_in_the_token, "signature"),
    "changed afterwards": (_changed_afterwards, "signature"),
    "of a key that is for something else": (_set(jwks=_fields(use="enc")), "key"),
    "of a key for another algorithm": (_set(jwks=_fields(alg="PS256")), "key"),
    "with a critical extension": (_set(header={"crit": ["exp"], "exp": 1}), "malformed"),
    "of another sign-in": (_say(nonce="another"), "nonce"),
    "of no sign-in": (_say(nonce=None), "nonce"),
    "with a number for a nonce": (_say(nonce=5), "nonce"),
    "of nobody": (_say(sub=None), "sub"),
    "of a number": (_say(sub=248289761001), "sub"),
    "of an empty name": (_say(sub=""), "sub"),
    "of a name that is too long": (_say(sub="a" * 256), "sub"),
    "of a name that cannot be stored": (_say(sub="a\ud800"), "sub"),
    "of another team": (_say(team="blue"), "claim"),
    "of two people": (_stranger_in_userinfo, "userinfo"),
    "that is none": (_set(token="a.b.c"), "malformed"),
    "that is not there": (_set(answer=(200, NONE, b'{"access_token": "at"}')), "id_token"),
}
ANSWERS: dict[str, tuple[Callable[[Forger], None], str]] = {
    "metadata of another issuer": (_describe(issuer="https://evil.example"), "issuer"),
    "metadata that leads into the clear": (_describe(token_endpoint="http://example.com/token"), "metadata"),
    "metadata that is none": (_describe(token_endpoint=5), "answer"),
    "tokens from a private address": (_describe(token_endpoint="https://10.0.0.1/token"), "egress_refused"),
    "keys from the cloud's own address": (_describe(jwks_uri="https://169.254.169.254/"), "egress_refused"),
    "keys of two megabytes": (_set(jwks=BIG), "upstream_too_large"),
    "keys that are none": (_set(jwks=b'{"keys": 5}'), "answer"),
    "a redirect instead of tokens": (
        _set(answer=(307, {"location": "/elsewhere"}, b"")),
        "too_many_redirects",
    ),
    "an error instead of tokens": (_set(answer=(400, NONE, b'{"error": "invalid_grant"}')), "status"),
    "a page instead of tokens": (_set(answer=(200, NONE, b"<html>")), "answer"),
    "nesting without end": (_set(answer=(200, NONE, b"[" * 200_000)), "answer"),
}
PEOPLE: dict[str, dict[str, object]] = {
    "an address nobody verified": {"email_verified": False},
    "an address that is verified in words": {"email_verified": "true"},
    "an address nobody speaks of": {"email_verified": None},
    "no address": {"email": None},
    "another domain": {"email": "ann@evil.example"},
    "a domain below": {"email": "ann@sub.example.com"},
    "a domain that ends alike": {"email": "ann@notexample.com"},
    "two addresses": {"email": "ann@evil.example,ann@example.com"},
    "letters that look alike": {"email": "ann@\uff45xample.com"},
    "a list": {"email": ["ann@example.com"]},
}


@asynccontextmanager
async def scene(like: OidcProvider = LIKE) -> AsyncGenerator[tuple[House, Forger, httpx.AsyncClient]]:
    """A gateway, a provider that is limited to a domain and a claim, and a browser."""
    with forger() as one:
        one.claims["team"] = "red"
        async with house() as place, place.client(None) as client:
            install(place, one.providers(like))
            yield place, one, client
            await place.gateway.oidc.aclose()


async def _refused(place: House, answered: httpx.Response, code: str, reason: str | None = None) -> None:
    """See that nobody is signed in, nothing is kept, and a person would be told why."""
    assert 400 <= answered.status_code < 600, answered.text
    assert code_of(answered) == code, answered.text
    assert reason in (None, answered.json()["error"]["details"].get("reason")), answered.text
    assert COOKIE not in answered.headers.get("set-cookie", "")
    assert not await place.store.has_account()
    assert {member.user for member in await place.store.list_members("default")} == {"ann", "cid", "local"}


async def test_an_honest_answer_signs_somebody_in() -> None:
    """R2: what the forgeries below change one piece of is let in: a code, PKCE, a secret that is spelled out."""
    async with scene() as (place, one, client):
        left = await one.leave(client, "/sign-in/oidc/forge?return_to=/agents%3Fa%3D1")
        assert left.asked["scope"] == "openid email profile"
        assert left.asked["redirect_uri"] == "http://127.0.0.1:8700/sign-in/oidc/forge/callback"
        answered = await one.come_back(client, left)
        assert (answered.status_code, answered.headers["location"]) == (303, "/agents?a=1"), answered.text
        cookies = answered.headers.get_list("set-cookie")
        assert all(" Secure; HttpOnly; SameSite=Lax" in cookie and "Path=/;" in cookie for cookie in cookies)
        session = next(cookie for cookie in cookies if cookie.startswith(COOKIE)).partition(";")[0]
        me = (await client.get("/api/me", headers={"cookie": session})).json()
        assert (me["tenant"], me["name"], me["role"]) == ("default", "Ann", "member")
        assert one.authorization == "Basic YWdpbzpzJTNBMSUyMCVDMyVCQw=="
        assert len(await place.store.list_members("default")) == 4


@pytest.mark.parametrize("forgery", TOKENS)
async def test_a_token_is_refused(forgery: str) -> None:
    """R2: an ID token that says something false, or whose signature proves nothing."""
    change, reason = TOKENS[forgery]
    async with scene() as (place, one, client):
        left = await one.leave(client)
        change(one)
        install(place, one.providers(LIKE))
        await _refused(place, await one.come_back(client, left), "invalid_id_token", reason)


@pytest.mark.parametrize("forgery", ANSWERS)
async def test_an_answer_of_the_provider_is_refused(forgery: str) -> None:
    """R2: metadata, keys and tokens that are another's, too large, elsewhere, or nonsense."""
    change, reason = ANSWERS[forgery]
    async with scene() as (place, one, client):
        left = await one.leave(client)
        change(one)
        install(place, one.providers(LIKE))
        await _refused(place, await one.come_back(client, left), "sign_in_provider_failed", reason)
        assert not any(path == "/elsewhere" for path in one.fetched)


@pytest.mark.parametrize("who", PEOPLE)
async def test_somebody_of_no_domain_that_is_allowed_is_refused(who: str) -> None:
    """R2: an address counts once the provider has verified it, and its whole domain does."""
    async with scene() as (place, one, client):
        one.claims |= PEOPLE[who]
        left = await one.leave(client)
        await _refused(place, await one.come_back(client, left), "email_not_allowed")


async def test_somebody_new_needs_an_address_that_is_verified() -> None:
    """R2: without a limit to domains too, nobody becomes a member by an address they only claim."""
    async with scene(replace(LIKE, domains=[])) as (place, one, client):
        one.claims["email_verified"] = False
        left = await one.leave(client)
        await _refused(place, await one.come_back(client, left), "email_not_verified")


async def test_a_state_is_for_one_browser_and_one_use() -> None:
    """R2: no state, a made-up one, one of another browser, one without its browser, one used before."""
    async with scene() as (place, one, client):
        left = await one.leave(client)
        for state in (None, "", "x" * 43, left.asked["nonce"], left.asked["state"][:-1]):
            answered = await one.come_back(client, left, state=state)
            await _refused(place, answered, "invalid_sign_in_state", "state")
        assert one.forms == []
    async with scene() as (place, one, client):
        left = await one.leave(client)
        other = await one.leave(client)
        answered = await one.come_back(client, left, cookie=other.cookie)
        await _refused(place, answered, "invalid_sign_in_state", "browser")
        again = await one.come_back(client, left)
        await _refused(place, again, "invalid_sign_in_state", "state")
        third = await one.leave(client)
        await _refused(
            place, await one.come_back(client, third, cookie="a=b"), "invalid_sign_in_state", "browser"
        )
        assert one.forms == []


async def test_a_code_is_redeemed_once_however_often_it_comes() -> None:
    """R2: ten browsers with the same answer: one is signed in."""
    async with scene() as (_, one, client):
        left = await one.leave(client)
        answered = await asyncio.gather(*(one.come_back(client, left) for _ in range(10)))
        assert [answer.status_code for answer in answered].count(303) == 1
        assert len(one.forms) == 1


async def test_another_browsers_code_does_not_fit_the_verifier() -> None:
    """R2: a code that was stolen is of no use: it belongs to the challenge of whoever began."""
    async with scene() as (place, one, client):
        mine = await one.leave(client)
        await one.leave(client)  # the provider now holds a code for this one
        await _refused(place, await one.come_back(client, mine), "sign_in_provider_failed", "status")


async def test_an_answer_of_another_provider_is_refused() -> None:
    """R2: a mix-up: the answer names another issuer, or none although it should, or comes to another's address."""
    with forger() as other:
        async with scene() as (place, one, client):
            left = await one.leave(client)
            mixed = await one.come_back(client, left, iss=other.url)
            await _refused(place, mixed, "invalid_sign_in_state", "iss")
            install(place, one.providers(LIKE, other))
            left = await other.leave(client, "/sign-in/oidc/other")
            await _refused(place, await one.come_back(client, left), "invalid_sign_in_state", "browser")
            one.metadata["authorization_response_iss_parameter_supported"] = True
            install(place, one.providers(LIKE))
            left = await one.leave(client)
            await _refused(place, await one.come_back(client, left), "invalid_sign_in_state", "iss")
            left = await one.leave(client)
            assert (await one.come_back(client, left, iss=one.url)).status_code == 303


async def test_an_error_of_the_provider_is_told_without_repeating_it() -> None:
    """R2: what comes back in the address is shown to nobody as it is; a person gets a page, a program JSON."""
    async with scene() as (place, one, client):
        left = await one.leave(client)
        answered = await one.come_back(client, left, code=None, error="access_denied")
        await _refused(place, answered, "sign_in_denied")
        left = await one.leave(client)
        script = "<script>alert(1)</script>"
        headers = {"accept": "text/html", "cookie": left.cookie}
        params = {"state": left.asked["state"], "error": script, "error_description": script}
        page = await client.get("/sign-in/oidc/forge/callback", params=params, headers=headers)
        assert (page.status_code, page.headers["content-type"]) == (403, "text/html; charset=utf-8")
        assert "&quot;sign_in_denied&quot;" in page.text
        assert "<script>" not in page.text
        assert "script-src 'self'" in page.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "evil.example", "",
        "javascript:alert(1)", "/\t/evil.example", "/\n/evil.example", " /", "/ü", "/" + "a" * 2001,
    ],
)  # fmt: skip
async def test_nobody_is_sent_to_another_site_afterwards(path: str) -> None:
    """R2: where a browser goes afterwards is a path of this server."""
    async with scene() as (_, _, client):
        answered = await client.get("/sign-in/oidc/forge", params={"return_to": path})
        assert (answered.status_code, code_of(answered)) == (422, "invalid_query")


async def test_keys_are_fetched_again_for_a_new_one_but_not_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R2: a provider may change its keys; whoever names keys that are not there does not make us ask each time."""
    async with scene() as (_, one, client):
        assert (await one.come_back(client, await one.leave(client))).status_code == 303
        one.signer = 1
        one.jwks = json.dumps({"keys": [jwk_of(1)]}).encode()
        for _ in range(3):
            assert code_of(await one.come_back(client, await one.leave(client))) == "invalid_id_token"
        assert one.fetched.count("/jwks") == 1
        monkeypatch.setattr(oidc_client, "_REFETCH_S", 0.0)
        assert (await one.come_back(client, await one.leave(client))).status_code == 303
        assert one.fetched.count("/jwks") == 2
        assert one.fetched.count("/.well-known/openid-configuration") == 1


async def _signed_in(one: Forger, client: httpx.AsyncClient) -> str:
    """Sign somebody in; returns the session's cookie."""
    answered = await one.come_back(client, await one.leave(client))
    cookies = [cookie.partition(";")[0] for cookie in answered.headers.get_list("set-cookie")]
    return next(cookie for cookie in cookies if cookie.startswith(COOKIE))


@pytest.mark.parametrize(
    "at",
    [None, "now", True, 0, -1, 1e300, NOW - 3600, NOW - 5 * MINUTE],
    ids=["none", "text", "true", "zero", "negative", "huge", "an hour ago", "five minutes ago"],
)
async def test_an_old_proof_confirms_nothing(at: object) -> None:
    """R2: a provider that did not ask anew, or does not say when, leaves the session as old as it was."""
    async with scene() as (place, one, client):
        session = await _signed_in(one, client)
        token = hash_secret(session.partition("=")[2])
        before = await place.store.find_web_session(token)
        left = await one.leave(client, "/sign-in/oidc/forge?purpose=confirm", session)
        assert (left.asked["prompt"], left.asked["max_age"]) == ("login", "0")
        one.claims["auth_time"] = at
        answered = await one.come_back(client, left, cookie=f"{session}; {left.cookie}")
        assert code_of(answered) == "not_confirmed", answered.text
        assert await place.store.find_web_session(token) == before
        left = await one.leave(client, "/sign-in/oidc/forge?purpose=confirm", session)
        one.claims["auth_time"] = int(time.time())
        answered = await one.come_back(client, left, cookie=f"{session}; {left.cookie}")
        assert answered.status_code == 303, answered.text
        assert await place.store.find_web_session(token) != before


async def test_a_session_is_as_old_as_the_proof_behind_it() -> None:
    """R2: whoever signed in at the provider an hour ago has not proved now who they are."""
    async with scene() as (place, one, client):
        one.claims["auth_time"] = NOW - 3600
        session = await _signed_in(one, client)
        found = await place.store.find_web_session(hash_secret(session.partition("=")[2]))
        assert found is not None
        assert found.authenticated_at == (NOW - 3600) * 1000


async def _with_password(_: Forger, place: House) -> httpx.Response:
    await add_account(place)
    return await sign_in(place)


async def _with_a_link(_: Forger, place: House) -> httpx.Response:
    await add_account(place)
    link = await SignInLink("default", "ann").keep(place.store)
    async with place.client(None) as client:
        return await client.get(link.url(""))


async def _invited(place: House, headers: Mapping[str, str], **given: str) -> httpx.Response:
    async with place.client("bob") as bob, place.client(None, {**OURS, **headers}) as client:
        token = (await bob.post("/api/invitations", json={})).json()["token"]
        return await client.post("/api/invitations/accept", json={"token": token, **given})


async def _with_an_invitation(_: Forger, place: House) -> httpx.Response:
    return await _invited(place, {}, name="Zoe", email="zoe@example.com", password=PASSWORD)


async def _with_an_old_session_and_an_invitation(_: Forger, place: House) -> httpx.Response:
    await add_account(place)
    async with await browser(place, signed_in_s_ago=3600) as old:
        return await _invited(place, {"cookie": old.headers["cookie"]})


def _elsewhere(query: str = "", **claims: object) -> WaySignedIn:
    async def way(one: Forger, place: House) -> httpx.Response:
        one.claims.update(claims)
        async with place.client(None) as client, place.client("bob") as bob:
            token = (await bob.post("/api/invitations", json={})).json()["token"]
            left = await one.leave(client, f"/sign-in/oidc/forge{query.format(token=token)}")
            return await one.come_back(client, left)

    return way


WAYS: dict[str, tuple[WaySignedIn, bool]] = {
    "password": (_with_password, True),
    "link": (_with_a_link, True),
    "invitation, new account": (_with_an_invitation, True),
    "invitation, signed in an hour ago": (_with_an_old_session_and_an_invitation, False),
    "provider, asked just now": (_elsewhere(), True),
    "provider, asked an hour ago": (_elsewhere(auth_time=NOW - 3600), False),
    "provider, does not say when": (_elsewhere(auth_time=None), False),
    "provider, says nonsense": (_elsewhere(auth_time="now"), False),
    "provider, invitation, does not say when": (_elsewhere("?invitation={token}", auth_time=None), False),
    "provider, was told to ask": (_elsewhere("?anew=true", auth_time=None), True),
    "provider, was told to ask and did not": (_elsewhere("?anew=true", auth_time=NOW - 3600), False),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_sign_in_is_fresh_only_if_the_person_proved_who_they_are(way: str) -> None:
    """R2: by each way to sign in; a provider's silent sign-in proves nothing for a sensitive change."""
    async with scene() as (place, one, client):
        signed_in, fresh = WAYS[way]
        answered = await signed_in(one, place)
        cookies = [cookie.partition(";")[0] for cookie in answered.headers.get_list("set-cookie")]
        session = next(cookie for cookie in cookies if cookie.startswith(COOKIE))
        made = await client.post("/api/api-keys", json={"name": "x"}, headers=_own(session))
        assert made.status_code == (201 if fresh else 403), made.text
        assert fresh or code_of(made) == "reauthentication_required"


async def test_a_key_beside_a_stolen_cookie_makes_it_no_fresher() -> None:
    """R2: a proof counts for whoever the cookie is of, not for whoever shows a key with it."""
    async with scene() as (_, one, client):
        session = await _signed_in(one, client)
        key = (await client.post("/api/api-keys", json={"name": "x"}, headers=_own(session))).json()["key"]
        headers = {"cookie": session, "authorization": f"Bearer {key}"}
        answered = await client.get("/sign-in/oidc/forge?purpose=confirm", headers=headers)
        assert (answered.status_code, code_of(answered)) == (403, "forbidden")
        left = await one.leave(client, "/sign-in/oidc/forge?purpose=confirm", session)
        one.claims["auth_time"] = int(time.time())
        answered = await client.get(
            "/sign-in/oidc/forge/callback",
            params={"code": "a-code", "state": left.asked["state"]},
            headers={**headers, "cookie": f"{session}; {left.cookie}"},
        )
        assert (answered.status_code, code_of(answered)) == (403, "forbidden")


async def test_a_link_is_begun_from_our_own_pages_alone() -> None:
    """R2: another site's page cannot have its own identity linked to whoever is signed in here."""
    async with scene() as (_, one, client):
        session = await _signed_in(one, client)
        path = "/api/account/identities/forge"
        for headers in ({}, {"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
            answered = await client.post(path, headers={"cookie": session, **headers})
            assert (answered.status_code, code_of(answered)) == (403, "forbidden_origin")
        assert (await client.get(path, headers=_own(session))).status_code == 405
        assert (await client.post(path, headers=_own(session))).status_code == 200


async def test_states_that_are_tried_are_counted_like_passwords() -> None:
    """R2, S14: after ten made-up answers an address waits."""
    async with scene() as (_, one, client):
        left = await one.leave(client)
        codes = [code_of(await one.come_back(client, left, state="x" * 43)) for _ in range(12)]
        assert codes[-1] == "rate_limited"
        assert codes[0] == "invalid_sign_in_state"


def _own(session: str) -> dict[str, str]:
    return {"cookie": session, "sec-fetch-site": "same-origin"}
