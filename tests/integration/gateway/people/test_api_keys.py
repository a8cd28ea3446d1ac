"""API keys over HTTP: scoped, expiring, never more than their maker, and managed by admins."""

import time

import httpx
import pytest

from agio.core.identity.principal import Role
from tests.integration.gateway.accounts import browser
from tests.support.house import House, code_of, house

DAY_MS = 24 * 3600 * 1000


def program(place: House, made: httpx.Response) -> httpx.AsyncClient:
    """A program with the key of an answer."""
    assert made.status_code == 201, made.text
    return place.client(None, {"authorization": f"Bearer {made.json()['key']}"})


async def _add(place: House, user: str, role: Role) -> None:
    await place.store.add_user("default", user, user.title(), role)
    await place.add(user, "default")


async def test_a_key_with_fewer_permissions_may_do_no_more() -> None:
    """R2: what it was not given is forbidden, whatever its user may do."""
    async with house() as place, await browser(place) as ann:
        made = await ann.post("/api/api-keys", json={"name": "reader", "permissions": ["use"]})
        assert made.json()["permissions"] == ["use"]
        async with program(place, made) as reader:
            assert (await reader.get("/api/agents")).status_code == 200
            assert (await reader.get("/api/me")).json()["permissions"] == ["use"]
            for path in ("/api/members", "/api/invitations"):
                assert code_of(await reader.get(path)) == "forbidden"
            more = await reader.post("/api/api-keys", json={"name": "k", "permissions": ["use", "build"]})
            assert (more.status_code, code_of(more)) == (403, "forbidden")
            child = await reader.post("/api/api-keys", json={"name": "child"})
            assert child.json()["permissions"] == ["use"]
        async with program(place, child) as smaller:
            assert code_of(await smaller.get("/api/members")) == "forbidden"


async def test_a_key_without_use_uses_nothing() -> None:
    """R2: permissions are exactly those that were named."""
    async with house() as place, await browser(place) as ann:
        made = await ann.post("/api/api-keys", json={"name": "manager", "permissions": ["manage"]})
        async with program(place, made) as manager:
            assert (await manager.get("/api/members")).status_code == 200
            assert code_of(await manager.get("/api/agents")) == "forbidden"


async def test_nobody_makes_a_key_that_may_do_more_than_they() -> None:
    """R2: an admin has no `own` to give; a key keeps to its list when its user may do more later."""
    async with house() as place, await browser(place) as ann:
        for permissions in (["own"], ["use", "own"]):
            answered = await ann.post("/api/api-keys", json={"name": "k", "permissions": permissions})
            assert (answered.status_code, code_of(answered)) == (403, "forbidden")
        for permissions in ([], ["everything"], "use", ["use"] * 5, [None]):
            answered = await ann.post("/api/api-keys", json={"name": "k", "permissions": permissions})
            assert code_of(answered) == "invalid_body"
        limited = await ann.post("/api/api-keys", json={"name": "k", "permissions": ["use", "build"]})
        whole = await ann.post("/api/api-keys", json={"name": "k"})
        async with program(place, limited) as maker:
            child = await maker.post("/api/api-keys", json={"name": "child"})
        await place.store.set_role("default", "ann", "owner")
        async with program(place, child) as small, program(place, whole) as large:
            assert (await small.get("/api/me")).json()["permissions"] == ["build", "use"]
            assert (await large.get("/api/me")).json()["permissions"] == ["build", "manage", "own", "use"]
        await place.store.add_user("default", "olga", "Olga", "owner")
        await place.store.set_role("default", "ann", "member")
        place.auth.forget_user("default", "ann")
        async with program(place, whole) as large:
            assert (await large.get("/api/me")).json()["permissions"] == ["use"]


async def test_a_key_ends_when_it_was_said_to() -> None:
    """R2: an expired key is refused like one that is not known; a key it makes ends no later."""
    async with house() as place, await browser(place) as ann:
        made = await ann.post("/api/api-keys", json={"name": "short", "expires_in_days": 1})
        now = time.time_ns() // 1_000_000
        assert abs(made.json()["expires_at"] - (now + DAY_MS)) < 60_000
        async with program(place, made) as client:
            for days in (None, 300):
                child = await client.post("/api/api-keys", json={"name": "child", "expires_in_days": days})
                assert child.json()["expires_at"] == made.json()["expires_at"]
        for days in (0, -1, 3651, 1.5, "1", True):
            answered = await ann.post("/api/api-keys", json={"name": "k", "expires_in_days": days})
            assert code_of(answered) == "invalid_body", days


async def test_an_expired_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: by the clock, without anybody doing anything."""
    async with house() as place, await browser(place) as ann:
        made = await ann.post("/api/api-keys", json={"name": "short", "expires_in_days": 1})
        async with program(place, made) as client:
            assert (await client.get("/api/me")).status_code == 200
            place.auth.forget(made.json()["id"])
            later = time.time_ns() + 2 * DAY_MS * 1_000_000
            monkeypatch.setattr("agio.db.plans.people.identity.now_ms", lambda: later // 1_000_000)
            assert code_of(await client.get("/api/me")) == "unauthenticated"


async def test_a_revoked_key_takes_along_all_that_were_made_with_it() -> None:
    """R2: children and theirs are refused at once, though they were just let in; its maker and siblings are not."""
    async with house() as place, await browser(place) as ann:
        first = await ann.post("/api/api-keys", json={"name": "first"})
        sibling = await ann.post("/api/api-keys", json={"name": "sibling"})
        assert first.json()["made_by"] is None
        async with program(place, first) as maker, program(place, sibling) as other:
            child = await maker.post("/api/api-keys", json={"name": "child"})
            assert child.json()["made_by"] == first.json()["id"]
            async with program(place, child) as middle:
                last = await middle.post("/api/api-keys", json={"name": "last"})
                listed = (await middle.get("/api/api-keys")).json()["items"]
                makers = {key["name"]: key["made_by"] for key in listed}
                assert (makers["last"], makers["sibling"]) == (child.json()["id"], None)
                async with program(place, last) as end:
                    for client in (maker, middle, end, other):
                        assert (await client.get("/api/me")).status_code == 200
                    revoked = await ann.delete(f"/api/api-keys/{first.json()['id']}")
                    assert revoked.status_code == 204
                    for client in (maker, middle, end):
                        refused = await client.get("/api/me")
                        assert (refused.status_code, code_of(refused)) == (401, "unauthenticated")
            assert (await other.get("/api/me")).status_code == 200
        assert (await ann.get("/api/me")).status_code == 200


async def test_whoever_lacks_a_permission_is_told_why() -> None:
    """R2: the key was made without it, or the role does not have it."""
    async with house() as place, await browser(place) as ann:
        made = await ann.post("/api/api-keys", json={"name": "reader", "permissions": ["use"]})
        await _add(place, "mia", "member")
        async with program(place, made) as reader, place.client("mia") as mia:
            by_key, by_role = await reader.get("/api/invitations"), await mia.get("/api/invitations")
            owners = await reader.get("/api/audit")
        for answered, why in (
            (by_key, "'manage': this API key was created without it."),
            (by_role, "'manage': admins and owners have it."),
            (owners, "'own': owners have it."),
        ):
            assert (answered.status_code, code_of(answered)) == (403, "forbidden")
            assert answered.json()["error"]["message"] == f"This needs the permission {why}"


async def test_a_list_of_keys_says_whose_they_are_and_when_they_were_used() -> None:
    """R2: one's own; and for whoever manages the team everybody's, of this team."""
    async with house() as place, place.client() as ann, place.client("cid") as cid:
        await ann.post("/api/api-keys", json={"name": "second", "permissions": ["use"], "expires_in_days": 5})
        [second, first] = (await ann.get("/api/api-keys")).json()["items"]
        assert first["last_used_at"] is not None
        assert (second["last_used_at"], second["permissions"], second["user"]) == (None, ["use"], "ann")
        assert second["expires_at"] > second["created_at"]
        await cid.get("/api/me")
        every = (await ann.get("/api/api-keys?all=true")).json()["items"]
        assert {key["user"] for key in every} == {"ann", "cid"}
        assert len(every) == 3
        await _add(place, "mia", "member")
        async with place.client("mia") as mia:
            refused = await mia.get("/api/api-keys?all=true")
            assert (refused.status_code, code_of(refused)) == (403, "forbidden")
            assert {key["user"] for key in (await mia.get("/api/api-keys")).json()["items"]} == {"mia"}


async def test_an_admin_revokes_every_key_but_an_owners() -> None:
    """R2: a member only their own; another team's key is not there."""
    async with house() as place:
        await _add(place, "mia", "member")
        await _add(place, "olga", "owner")
        keys = {
            user: (await place.store.list_api_keys("default", user))[0].id for user in ("ann", "mia", "olga")
        }
        foreign = (await place.store.list_api_keys("other", "bob"))[0].id
        async with place.client() as ann, place.client("mia") as mia, place.client("olga") as olga:
            assert (await mia.get("/api/me")).status_code == 200
            for key in (keys["ann"], keys["olga"], foreign):
                assert code_of(await mia.delete(f"/api/api-keys/{key}")) == "key_not_found"
            refused = await ann.delete(f"/api/api-keys/{keys['olga']}")
            assert (refused.status_code, code_of(refused)) == (403, "forbidden")
            assert code_of(await ann.delete(f"/api/api-keys/{foreign}")) == "key_not_found"
            assert (await ann.delete(f"/api/api-keys/{keys['mia']}")).status_code == 204
            assert code_of(await mia.get("/api/me")) == "unauthenticated"
            assert (await olga.delete(f"/api/api-keys/{keys['ann']}")).status_code == 204
            assert code_of(await ann.get("/api/me")) == "unauthenticated"
