"""A person's account over HTTP: made, changed, confirmed, left; and switching between teams."""

import httpx
import pytest

from agio.gateway.http.route import FRESH_S
from tests.integration.gateway.accounts import (
    PASSWORD,
    add_account,
    browser,
    cookie_of,
    sign_in,
    with_cookie,
)
from tests.support.house import House, code_of, house

NEW = {"email": "ann@example.com", "name": "Ann Example", "password": PASSWORD}
ACCOUNT = {"id": "acc_ann", "email": "ann@example.com", "name": "Ann", "has_password": True}


async def _refused(place: House, method: str, path: str, body: object, code: str) -> None:
    async with await browser(place) as client:
        answered = await client.request(method, path, json=body)
        assert code_of(answered) == code, answered.text


async def test_me_says_who_what_and_where() -> None:
    """R2: permissions, the account, and the teams one can switch to."""
    async with house() as place:
        await add_account(place)
        second = await place.store.create_tenant("Second", "acc_ann", "Ann")
        async with await browser(place) as ann, place.client() as program:
            me = (await ann.get("/api/me")).json()
            assert me["permissions"] == ["build", "manage", "use"]
            assert me["account"] == ACCOUNT
            assert [team["tenant"] for team in me["tenants"]] == ["default", second.tenant]
            assert me["authenticated_at"] > 0
            of_key = (await program.get("/api/me")).json()
            assert (of_key["account"], of_key["authenticated_at"]) == (ACCOUNT, None)
            assert [team["tenant"] for team in of_key["tenants"]] == ["default"]
            assert (await ann.get("/api/tenants")).json()["items"] == me["tenants"]


async def test_an_account_is_made_once_by_whoever_is_signed_in() -> None:
    """R2: the address is kept in one spelling, the name becomes the user's."""
    async with house() as place, await browser(place) as ann:
        assert code_of(await ann.get("/api/account")) == "account_not_found"
        assert (await ann.get("/api/me")).json()["account"] is None
        made = await ann.post("/api/account", json={**NEW, "email": "Ann@Example.COM"})
        assert (made.status_code, made.json()["email"]) == (201, "ann@example.com")
        assert (await ann.get("/api/account")).json() == made.json()
        assert (await ann.get("/api/me")).json()["name"] == "Ann Example"
        again = await ann.post("/api/account", json={**NEW, "email": "other@example.com"})
        assert (again.status_code, code_of(again)) == (409, "account_exists")
        async with await browser(place, "cid") as cid:
            taken = await cid.post("/api/account", json={**NEW, "email": "ANN@example.com"})
            assert (taken.status_code, code_of(taken)) == (409, "email_taken")


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"password": "short"}, "weak_password"),
        ({"password": "ann@example.com"}, "weak_password"),
        ({"email": "nobody"}, "invalid_email"),
        ({"email": "a b@example.com"}, "invalid_email"),
        ({"email": "a@b@example.com"}, "invalid_email"),
        ({"email": "\uff41nn@example.com"}, "invalid_email"),
        ({"email": "ann@example"}, "invalid_email"),
        ({"email": "ann@exa\u202emple.com"}, "invalid_email"),
        ({"name": "  "}, "invalid_body"),
        ({"email": "a" * 300 + "@example.com"}, "invalid_body"),
    ],
)
async def test_an_account_that_cannot_be_is_refused(changed: dict[str, str], code: str) -> None:
    """R2: with a code, and nothing is made."""
    async with house() as place:
        await _refused(place, "POST", "/api/account", {**NEW, **changed}, code)
        assert not await place.store.has_account()


async def test_a_program_is_not_the_person() -> None:
    """R2: no API key makes, changes, confirms or leaves an account, or switches teams."""
    async with house() as place, place.client() as program:
        for method, path, body in (
            ("POST", "/api/account", NEW),
            ("PATCH", "/api/account", {"name": "x"}),
            ("POST", "/api/account/password", {"password": PASSWORD}),
            ("POST", "/api/account/confirm", {"password": PASSWORD}),
            ("POST", "/api/account/sign-out-everywhere", None),
            ("POST", "/api/tenants/switch", {"tenant": "default"}),
        ):
            answered = await program.request(method, path, json=body)
            assert (answered.status_code, code_of(answered)) == (403, "forbidden"), path


async def test_name_and_address_are_changed() -> None:
    """R2: one signs in with the new address from then on."""
    async with house() as place:
        await add_account(place)
        await add_account(place, "cid")
        async with await browser(place) as ann:
            changed = await ann.patch("/api/account", json={"name": "Anna", "email": "Anna@example.com"})
            assert changed.json() == {**ACCOUNT, "name": "Anna", "email": "anna@example.com"}
            assert (await ann.get("/api/me")).json()["name"] == "Anna"
            assert (await ann.patch("/api/account", json={"name": "Annika"})).json()["name"] == "Annika"
            for body, code in (
                ({"email": "CID@example.com"}, "email_taken"),
                ({"email": "no"}, "invalid_body"),
                ({"email": "nobody"}, "invalid_email"),
                ({}, "invalid_body"),
            ):
                assert code_of(await ann.patch("/api/account", json=body)) == code
        assert (await sign_in(place, "anna@example.com")).status_code == 200
        assert (await sign_in(place, "ann@example.com")).status_code == 401


async def test_a_new_password_signs_every_other_browser_out() -> None:
    """R2: the old one is worth nothing, this browser stays."""
    new = "another quiet harbour"
    async with house() as place:
        await add_account(place)
        async with await browser(place) as here, await browser(place) as there:
            assert (await there.get("/api/me")).status_code == 200
            weak = await here.post("/api/account/password", json={"password": "short"})
            assert (weak.status_code, code_of(weak)) == (422, "weak_password")
            done = await here.post("/api/account/password", json={"password": new})
            assert done.status_code == 204, done.text
            assert (await here.get("/api/me")).status_code == 200
            assert code_of(await there.get("/api/me")) == "unauthenticated"
        assert (await sign_in(place)).status_code == 401
        assert (await sign_in(place, password=new)).status_code == 200


FRESH: list[tuple[str, str, dict[str, str] | None]] = [
    ("PATCH", "/api/account", {"name": "x"}),
    ("POST", "/api/account/password", {"password": PASSWORD + "!"}),
    ("POST", "/api/api-keys", {"name": "k"}),
    ("PATCH", "/api/members/cid", {"role": "member"}),
    ("DELETE", "/api/members/cid", None),
    ("POST", "/api/invitations", {}),
    ("POST", "/api/tenants", {"name": "New"}),
]


@pytest.mark.parametrize(("method", "path", "body"), FRESH)
async def test_a_sensitive_change_needs_a_fresh_proof(method: str, path: str, body: object) -> None:
    """R2: an old session is asked for the password again; with it the change is made."""
    async with house() as place:
        await place.store.set_role("default", "ann", "owner")
        await add_account(place)
        async with await browser(place, signed_in_s_ago=FRESH_S + 5) as ann:
            refused = await ann.request(method, path, json=body)
            assert (refused.status_code, code_of(refused)) == (403, "reauthentication_required")
            wrong = await ann.post("/api/account/confirm", json={"password": "not this one"})
            assert (wrong.status_code, code_of(wrong)) == (401, "wrong_credentials")
            assert code_of(await ann.request(method, path, json=body)) == "reauthentication_required"
            assert (await ann.post("/api/account/confirm", json={"password": PASSWORD})).status_code == 204
            assert (await ann.request(method, path, json=body)).status_code < 300


async def test_everything_else_needs_none_and_programs_and_links_are_asked_for_nothing() -> None:
    """R2: reading and talking go on; whoever has no password cannot be asked for it."""
    async with house() as place:
        await add_account(place)
        async with await browser(place, signed_in_s_ago=FRESH_S * 10) as ann, place.client() as program:
            assert (await ann.get("/api/members")).status_code == 200
            assert (await program.post("/api/api-keys", json={"name": "k"})).status_code == 201
        async with await browser(place, "cid", signed_in_s_ago=FRESH_S * 10) as cid:
            assert (await cid.post("/api/api-keys", json={"name": "k"})).status_code == 201
            assert code_of(await cid.post("/api/account/confirm", json={"password": "x"})) == (
                "account_not_found"
            )


async def test_signing_out_everywhere_leaves_no_browser_signed_in() -> None:
    """R2: with an account in all teams, without one as that user; API keys stay."""
    async with house() as place:
        await add_account(place)
        second = await place.store.create_tenant("Second", "acc_ann", "Ann")
        async with (
            await browser(place) as here,
            await browser(place) as there,
            await browser(place, second.user, second.tenant) as elsewhere,
            await browser(place, "cid") as cid,
            await browser(place, "cid") as cid_too,
            place.client() as program,
        ):
            for client in (here, there, elsewhere, cid):
                assert (await client.get("/api/me")).status_code == 200
            out = await here.post("/api/account/sign-out-everywhere")
            assert out.status_code == 204
            assert "Max-Age=0" in out.headers["set-cookie"]
            for client in (here, there, elsewhere):
                assert code_of(await client.get("/api/me")) == "unauthenticated"
            for client in (cid, program):
                assert (await client.get("/api/me")).status_code == 200
            assert (await cid.post("/api/account/sign-out-everywhere")).status_code == 204
            assert code_of(await cid_too.get("/api/me")) == "unauthenticated"


async def test_a_browser_switches_teams_under_a_new_secret() -> None:
    """R2: the old cookie is worth nothing; what is there is of the other team."""
    async with house() as place:
        await add_account(place)
        second = await place.store.create_tenant("Second", "acc_ann", "Ann")
        async with await browser(place) as ann:
            made = await ann.post("/api/tenants/switch", json={"tenant": second.tenant})
            assert (made.status_code, made.json()["user"]) == (200, second.user)
            assert cookie_of(made) != ann.headers["cookie"]
            assert code_of(await ann.get("/api/me")) == "unauthenticated"
        async with with_cookie(place, made) as there:
            me = (await there.get("/api/me")).json()
            assert (me["tenant"], me["role"]) == (second.tenant, "owner")
            assert (await there.get("/api/agents")).json()["items"] == []
            back = await there.post("/api/tenants/switch", json={"tenant": "default"})
            assert back.status_code == 200


@pytest.mark.parametrize("tenant", ["other", "ten_nothing", "Default"])
async def test_a_team_one_is_not_in_is_not_there(tenant: str) -> None:
    """R2, S14: 404, and the browser is where it was."""
    async with house() as place:
        await add_account(place)
        async with await browser(place) as ann:
            answered = await ann.post("/api/tenants/switch", json={"tenant": tenant})
            assert (answered.status_code, code_of(answered)) == (404, "tenant_not_found")
            assert "set-cookie" not in answered.headers
            assert (await ann.get("/api/me")).json()["tenant"] == "default"


async def test_a_revoked_session_is_forgotten_everywhere_it_was_known() -> None:
    """R2: a role that is taken away counts for the next request."""
    async with house() as place:
        await place.store.add_user("default", "olga", "Olga", "owner")
        await place.add("olga", "default")
        async with await browser(place) as ann, place.client("olga") as olga:
            assert (await ann.get("/api/members")).status_code == 200
            assert (await olga.patch("/api/members/ann", json={"role": "member"})).status_code == 200
            answered: httpx.Response = await ann.get("/api/members")
            assert (answered.status_code, code_of(answered)) == (403, "forbidden")
