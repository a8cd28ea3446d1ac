"""Teams over HTTP: members and their roles, invitations, new teams."""

import asyncio
from collections.abc import AsyncGenerator

import httpx
import pytest
from msgspec import structs

from agio.core.identity.principal import Role
from agio.gateway.auth.authenticator import hash_secret
from agio.gateway.stream.connections import Cut
from tests.integration.gateway.accounts import OURS, PASSWORD, add_account, browser, sign_in, with_cookie
from tests.support.engine import QUICK
from tests.support.house import ADDRESS, House, code_of, house

ZOE = {"name": "Zoe", "email": "zoe@example.com", "password": PASSWORD}


async def _add(place: House, user: str, role: Role, tenant: str = "default") -> None:
    await place.store.add_user(tenant, user, user.title(), role)
    await place.add(user, tenant)


async def _invite(place: House, user: str = "ann", **given: object) -> str:
    async with place.client(user) as client:
        made = await client.post("/api/invitations", json=given)
        assert made.status_code == 201, made.text
        assert made.json()["path"] == f"/invitation#{made.json()['token']}"
        return made.json()["token"]


async def _accept(place: House, token: str, **given: object) -> httpx.Response:
    async with place.client(None, OURS) as client:
        return await client.post("/api/invitations/accept", json={"token": token, **given})


async def test_members_are_listed_for_whoever_manages_the_team() -> None:
    """R2: of the own team; a member may not."""
    async with house() as place:
        await add_account(place)
        await _add(place, "mia", "member")
        async with place.client() as ann, place.client("mia") as mia:
            listed = (await ann.get("/api/members")).json()["items"]
            shown = {member["user"]: (member["role"], member["email"]) for member in listed}
            assert shown["ann"] == ("admin", "ann@example.com")
            assert shown["mia"] == ("member", None)
            assert [member["name"] for member in listed] == sorted(member["name"] for member in listed)
            assert "bob" not in {member["user"] for member in listed}
            assert code_of(await mia.get("/api/members")) == "forbidden"


async def test_roles_are_changed_by_whoever_may() -> None:
    """R2: admins change members and admins; owners and the making of owners are for owners."""
    async with house() as place:
        await _add(place, "mia", "member")
        await _add(place, "olga", "owner")
        async with place.client() as ann, place.client("olga") as olga, place.client("mia") as mia:
            changed = await ann.patch("/api/members/mia", json={"role": "admin"})
            assert (changed.status_code, changed.json()["role"]) == (200, "admin")
            for user, role in (("mia", "owner"), ("ann", "owner"), ("olga", "member"), ("olga", "owner")):
                refused = await ann.patch(f"/api/members/{user}", json={"role": role})
                assert (refused.status_code, code_of(refused)) == (403, "forbidden"), (user, role)
            refused = await ann.delete("/api/members/olga")
            assert (refused.status_code, code_of(refused)) == (403, "forbidden")
            await ann.patch("/api/members/mia", json={"role": "member"})
            assert code_of(await mia.patch("/api/members/mia", json={"role": "admin"})) == "forbidden"
            assert (await olga.patch("/api/members/ann", json={"role": "owner"})).status_code == 200
            assert (await ann.delete("/api/members/olga")).status_code == 204
            for role in ("root", "", None, 1):
                assert code_of(await ann.patch("/api/members/mia", json={"role": role})) == "invalid_body"


@pytest.mark.parametrize("change", ["role", "removal", "key", "sign-out", "everywhere"])
async def test_what_changes_a_credential_closes_its_streams(change: str) -> None:
    """R2: a role, a removal, a revoked key and a sign-out end what is open, at once on this gateway."""
    async with house() as place, place.client() as ann, await browser(place, "cid") as cid:
        headers = cid if change in ("sign-out", "everywhere") else place.client("cid")
        raw = [(name.encode(), value.encode()) for name, value in headers.headers.items()]
        who = await place.auth.identify(raw)
        opened = asyncio.Event()

        async def stream() -> None:
            async with place.gateway.connections.open(who):
                opened.set()
                await asyncio.Event().wait()

        streaming = asyncio.create_task(stream())
        await asyncio.wait_for(opened.wait(), 60)
        match change:
            case "role":
                answered = await ann.patch("/api/members/cid", json={"role": "member"})
            case "removal":
                answered = await ann.delete("/api/members/cid")
            case "key":
                answered = await ann.delete(f"/api/api-keys/{who.credential}")
            case "sign-out":
                answered = await cid.post("/sign-out")
            case _:
                answered = await cid.post("/api/account/sign-out-everywhere")
        assert answered.status_code in (200, 204), answered.text
        with pytest.raises(Cut):
            await asyncio.wait_for(streaming, 60)


async def test_a_team_keeps_its_last_owner() -> None:
    """R2: 409, also for themselves."""
    async with house() as place:
        await _add(place, "olga", "owner", "other")
        async with place.client("olga") as olga:
            for answered in (
                await olga.patch("/api/members/olga", json={"role": "admin"}),
                await olga.delete("/api/members/olga"),
            ):
                assert (answered.status_code, code_of(answered)) == (409, "last_owner")


@pytest.mark.parametrize("user", ["bob", "nobody", "usr_01k9"])
async def test_somebody_of_another_team_is_not_there(user: str) -> None:
    """R2, S14: 404 for a foreign user, as for one that is not."""
    async with house() as place, place.client() as ann:
        for answered in (
            await ann.patch(f"/api/members/{user}", json={"role": "member"}),
            await ann.delete(f"/api/members/{user}"),
        ):
            assert (answered.status_code, code_of(answered)) == (404, "user_not_found")


async def test_a_newcomer_joins_with_an_invitation() -> None:
    """R2: they see what it is, make their account, and are signed in to the team."""
    async with house() as place, place.client(None) as nobody:
        token = await _invite(place, email="Zoe@Example.com", role="admin")
        offer = (await nobody.get(f"/api/invitations/open?token={token}")).json()
        assert offer["expires_at"] > 0
        del offer["expires_at"]
        assert offer == {
            "team": "Default", "role": "admin", "invited_by": "Ann", "email": "zoe@example.com",
            "signed_in_as": None,
        }  # fmt: skip
        joined = await _accept(place, token, name="Zoe", password=PASSWORD)
        assert (joined.status_code, joined.json()["role"]) == (200, "admin")
        async with with_cookie(place, joined) as zoe:
            me = (await zoe.get("/api/me")).json()
            assert (me["user"], me["name"], me["tenant"]) == (joined.json()["user"], "Zoe", "default")
            assert me["user"].startswith("usr_")
        assert (await sign_in(place, "zoe@example.com")).status_code == 200
        async with place.client() as ann:
            [listed] = (await ann.get("/api/invitations")).json()["items"]
            assert (listed["accepted_by"], token in str(listed)) == (joined.json()["user"], False)


async def test_whoever_has_an_account_joins_with_it() -> None:
    """R2: signed in, one click; the browser goes on in the new team under a new secret."""
    async with house() as place:
        account = await add_account(place, "bob", "other")
        token = await _invite(place)
        async with await browser(place, "bob", "other") as bob:
            offer = await bob.get(f"/api/invitations/open?token={token}")
            assert offer.json()["signed_in_as"] == "bob@example.com"
            joined = await bob.post("/api/invitations/accept", json={"token": token})
            assert joined.json()["tenant"] == "default"
            assert code_of(await bob.get("/api/me")) == "unauthenticated"
        async with with_cookie(place, joined) as bob:
            me = (await bob.get("/api/me")).json()
            assert (me["tenant"], me["account"]["id"]) == ("default", account.id)
            assert {team["tenant"] for team in me["tenants"]} == {"default", "other"}


async def test_an_invitation_is_accepted_once() -> None:
    """R2: by the first of many at the same time; a second time it is not there."""
    async with house() as place:
        token = await _invite(place)
        answers = await asyncio.gather(
            *(
                _accept(place, token, name="Zoe", email=f"zoe{number}@example.com", password=PASSWORD)
                for number in range(6)
            )
        )
        assert sorted(answer.status_code for answer in answers) == [200] + [404] * 5
        again = await _accept(place, token, **ZOE)
        assert (again.status_code, code_of(again)) == (404, "invitation_not_found")


async def test_an_invitation_for_somebody_else_is_refused() -> None:
    """R2: with another address, new or known, it stays open for the one it is for."""
    async with house() as place:
        token = await _invite(place, email="zoe@example.com")
        other = await _accept(place, token, name="Eve", email="eve@example.com", password=PASSWORD)
        assert (other.status_code, code_of(other)) == (403, "invitation_not_yours")
        await add_account(place, "bob", "other")
        async with await browser(place, "bob", "other") as bob:
            refused = await bob.post("/api/invitations/accept", json={"token": token})
            assert (refused.status_code, code_of(refused)) == (403, "invitation_not_yours")
        assert (await _accept(place, token, **{**ZOE, "email": "ZOE@example.com"})).status_code == 200


async def test_an_invitation_that_is_over_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: too old, or taken back."""
    async with house() as place, place.client() as ann, place.client(None) as nobody:
        token = await _invite(place)
        [listed] = (await ann.get("/api/invitations")).json()["items"]
        assert (await ann.delete(f"/api/invitations/{listed['id']}")).status_code == 204
        assert code_of(await ann.delete(f"/api/invitations/{listed['id']}")) == "invitation_not_found"
        late = await _invite(place, expires_in_days=1)
        two_days = 2 * 24 * 3600 * 1000
        now = (await place.store.list_invitations("default"))[0].created_at + two_days
        monkeypatch.setattr("agio.db.plans.people.teams.now_ms", lambda: now)
        for over in (token, late, "nothing"):
            assert code_of(await nobody.get(f"/api/invitations/open?token={over}")) == "invitation_not_found"
            assert code_of(await _accept(place, over, **ZOE)) == "invitation_not_found"


async def test_what_an_invitation_lacks_is_said() -> None:
    """R2: an address that has an account, a weak password, nothing at all, a member; none uses it up."""
    async with house() as place:
        await add_account(place)
        token = await _invite(place)
        for given, code in (
            ({}, "unauthenticated"),
            ({"name": "Zoe", "password": PASSWORD}, "unauthenticated"),
            ({**ZOE, "email": "ANN@example.com"}, "email_taken"),
            ({**ZOE, "password": "short"}, "weak_password"),
            ({**ZOE, "email": "nobody"}, "invalid_email"),
        ):
            assert code_of(await _accept(place, token, **given)) == code
        async with await browser(place) as ann:
            already = await ann.post("/api/invitations/accept", json={"token": token})
            assert (already.status_code, code_of(already)) == (409, "already_member")
        async with place.client(None) as elsewhere:
            foreign = await elsewhere.post("/api/invitations/accept", json={"token": token, **ZOE})
            assert code_of(foreign) == "forbidden_origin"
        assert (await _accept(place, token, **ZOE)).status_code == 200


async def test_invitations_are_made_by_whoever_manages_the_team() -> None:
    """R2: owners are invited by owners; another team's invitation is not there."""
    async with house() as place:
        await _add(place, "mia", "member")
        await _add(place, "olga", "owner")
        async with place.client() as ann, place.client("mia") as mia, place.client("bob") as bob:
            owner = await ann.post("/api/invitations", json={"role": "owner"})
            assert (owner.status_code, code_of(owner)) == (403, "forbidden")
            assert code_of(await mia.post("/api/invitations", json={})) == "forbidden"
            await _invite(place, "olga", role="owner")
            [listed] = (await ann.get("/api/invitations")).json()["items"]
            assert (await bob.get("/api/invitations")).json()["items"] == []
            assert code_of(await bob.delete(f"/api/invitations/{listed['id']}")) == "invitation_not_found"
            for body, code in (
                ({"email": "nobody"}, "invalid_email"),
                ({"role": "root"}, "invalid_body"),
                ({"expires_in_days": 31}, "invalid_body"),
                ({"expires_in_days": 0}, "invalid_body"),
            ):
                assert code_of(await ann.post("/api/invitations", json=body)) == code


async def test_the_operators_owners_make_teams() -> None:
    """R2: the maker's account is the first owner; nobody else may."""
    async with house() as place:
        await _add(place, "olga", "owner")
        await add_account(place, "olga")
        await _add(place, "otto", "owner", "other")
        async with await browser(place, "olga") as olga, place.client() as ann, place.client("otto") as otto:
            for client in (ann, otto):
                refused = await client.post("/api/tenants", json={"name": "Mine"})
                assert (refused.status_code, code_of(refused)) == (403, "forbidden")
            made = await olga.post("/api/tenants", json={"name": "Acme"})
            assert (made.status_code, made.json()["name"], made.json()["role"]) == (201, "Acme", "owner")
            assert made.json()["tenant"].startswith("ten_")
            assert [team["name"] for team in (await olga.get("/api/tenants")).json()["items"]] == [
                "Acme",
                "Default",
            ]
            switched = await olga.post("/api/tenants/switch", json={"tenant": made.json()["tenant"]})
            assert switched.status_code == 200
        async with with_cookie(place, switched) as there:
            assert (await there.patch("/api/tenant", json={"name": "Acme & Sons"})).json()["name"] == (
                "Acme & Sons"
            )
            assert code_of(await there.post("/api/tenants", json={"name": "More"})) == "forbidden"


async def test_a_team_is_renamed_without_touching_the_rest() -> None:
    """R2: name and retention are changed each for itself."""
    async with house() as place, place.client() as ann:
        await ann.patch("/api/tenant", json={"retention_days": 30})
        renamed = await ann.patch("/api/tenant", json={"name": "Harbour"})
        assert renamed.json() == {
            "id": "default",
            "name": "Harbour",
            "retention_days": 30,
            "sdk_sessions": "build",
        }
        both = await ann.patch("/api/tenant", json={"name": "H", "retention_days": None})
        assert both.json() == {"id": "default", "name": "H", "retention_days": None, "sdk_sessions": "build"}
        for body in ({}, {"name": None}, {"name": ""}, {"name": "x" * 101}, {"id": "other"}):
            assert code_of(await ann.patch("/api/tenant", json=body)) == "invalid_body"


async def test_whoever_lost_a_right_meanwhile_cannot_use_it_any_more() -> None:
    """R2: a request whose body comes late is judged by what its sender may do when it has come."""
    async with house() as place:
        await _add(place, "olga", "owner")
        await _add(place, "oleg", "owner")
        admitted, demoted = asyncio.Event(), asyncio.Event()

        async def slowly() -> AsyncGenerator[bytes]:
            admitted.set()
            await demoted.wait()
            yield b'{"role": "owner"}'

        async with place.client("olga") as olga, place.client("oleg") as oleg:
            pending = asyncio.create_task(
                oleg.patch(
                    "/api/members/oleg", content=slowly(), headers={"content-type": "application/json"}
                )
            )
            async with asyncio.timeout(60):
                await admitted.wait()
            assert (await olga.patch("/api/members/oleg", json={"role": "member"})).status_code == 200
            demoted.set()
            assert code_of(await pending) == "forbidden"
            assert (await oleg.get("/api/me")).json()["role"] == "member"


async def test_what_another_gateway_took_away_is_gone_at_once_for_sensitive_changes() -> None:
    """R2: an earlier look-up, which counts for seconds elsewhere, does not let a former owner come back."""
    async with house() as place:
        await _add(place, "olga", "owner")
        await _add(place, "oleg", "owner")
        async with place.client("oleg") as oleg:
            assert (await oleg.get("/api/me")).json()["role"] == "owner"
            await place.store.set_role("default", "oleg", "member")
            refused = await oleg.patch("/api/members/oleg", json={"role": "owner"})
            assert code_of(refused) == "forbidden"
            assert code_of(await oleg.post("/api/invitations", json={"role": "owner"})) == "forbidden"


async def test_an_invitation_is_no_way_to_ask_for_accounts_or_to_keep_others_from_signing_in() -> None:
    """R2, S14: making an account counts like an attempt to sign in, whatever becomes of it."""
    limits = structs.replace(QUICK, sign_ins_at_once=5)
    async with house(limits) as place:
        await add_account(place)
        token = await _invite(place)
        weak, taken = {**ZOE, "password": "short"}, {**ZOE, "email": "ann@example.com"}
        answers = [await _accept(place, token, **given) for given in (weak, taken) * 5]
        codes = [code_of(answer) for answer in answers]
        assert codes == ["weak_password", "email_taken"] * 2 + ["weak_password"] + ["rate_limited"] * 5
        assert code_of(await _accept(place, token, **ZOE)) == "rate_limited"


async def test_an_owner_makes_a_sign_in_link_for_a_member() -> None:
    """R2: it works once, is audited, and replaces the one before; not for owners, and not by an admin."""
    async with house() as place:
        await add_account(place, "mia", role="member")
        await _add(place, "olga", "owner")
        async with place.client("olga") as olga, place.client() as ann, place.client(None) as anybody:
            path = "/api/members/mia/sign-in-link"
            first, made = [await olga.post(path) for _ in range(2)]
            assert (made.status_code, set(made.json())) == (201, {"url", "expires_at"})
            assert made.json()["url"].startswith(f"{ADDRESS}/sign-in?token=")
            assert (await anybody.get(first.json()["url"])).status_code == 403
            answered = await anybody.get(made.json()["url"])
            assert answered.status_code == 303
            async with with_cookie(place, answered) as mia:
                assert (await mia.get("/api/me")).json()["user"] == "mia"
                assert (
                    await mia.post("/api/account/password", json={"password": PASSWORD})
                ).status_code == 204
            assert (await anybody.get(made.json()["url"])).status_code == 403
            told = (await olga.get("/api/audit?action=sign_in.link")).json()["items"]
            assert [(entry["user"], entry["object"]) for entry in told] == [("olga", "mia")] * 2
            assert code_of(await ann.post(path)) == "forbidden"
            assert code_of(await olga.post("/api/members/olga/sign-in-link")) == "forbidden"
            assert code_of(await olga.post("/api/members/bob/sign-in-link")) == "user_not_found"
        async with await browser(place, "mia", signed_in_s_ago=3600) as mia:
            await place.store.set_role("default", "mia", "owner")
            assert code_of(await mia.post("/api/members/ann/sign-in-link")) == "reauthentication_required"


@pytest.mark.parametrize("change", ["joins another team", "becomes an owner", "maker is demoted"])
async def test_an_owners_link_opens_no_other_team_whenever_it_is_used(change: str) -> None:
    """R2, S14: what forbids to make a link also ends one that was made before."""
    async with house() as place:
        account = await add_account(place, "mia", role="member")
        await _add(place, "olga", "owner")
        await _add(place, "otto", "owner")
        await place.add("bob", "acme")
        async with place.client("olga") as olga, place.client(None) as anybody:
            url = (await olga.post("/api/members/mia/sign-in-link")).json()["url"]
            if change == "joins another team":
                token = await _invite(place, "bob")
                await place.store.accept_invitation(hash_secret(token), account)
                refused = await olga.post("/api/members/mia/sign-in-link")
                assert (refused.status_code, code_of(refused)) == (409, "member_elsewhere")
            elif change == "becomes an owner":
                await place.store.set_role("default", "mia", "owner")
            else:
                await place.store.set_role("default", "olga", "admin")
            assert (await anybody.get(url)).status_code == 403
