"""The audit log over HTTP: what requests leave in it, and who may read it."""

from typing import Any

import httpx

from tests.integration.gateway.accounts import PASSWORD, add_account, browser
from tests.support.engine import soon
from tests.support.house import AGENT, House, code_of, house


async def _log(place: House, tenant: str = "default") -> list[tuple[str, str]]:
    page = await place.store.list_audit(tenant, limit=200)
    return [(entry.action, entry.user) for entry in reversed(page.items)]


async def _owned(place: House) -> httpx.AsyncClient:
    await place.store.set_role("default", "ann", "owner")
    return place.client()


async def test_an_owner_reads_who_did_what_in_which_request() -> None:
    """B11: the entry has the credential, the address and the id of the request that is in the log."""
    async with house() as place, await _owned(place) as ann, place.client("cid") as cid:
        made = await cid.post("/api/agents", json=AGENT, headers={"x-request-id": "by.cid"})
        key = (await place.store.list_api_keys("default", "cid"))[0].id
        [entry] = (await ann.get("/api/audit")).json()["items"]
        assert entry.pop("number") > 0
        assert entry.pop("at") > 0
        assert entry == {
            "user": "cid",
            "credential": key,
            "address": "203.0.113.9",
            "request_id": "by.cid",
            "action": "agent.create",
            "object": made.json()["id"],
            "details": {"name": "Ada"},
        }


async def test_pages_and_filters_find_the_rest() -> None:
    """B11: newest first, by cursor, by action, by user."""
    async with house() as place, await _owned(place) as ann, place.client("cid") as cid:
        for number in range(3):
            await cid.post("/api/agents", json={**AGENT, "name": f"Agent {number}"})
        await ann.patch("/api/tenant", json={"retention_days": 9})
        first = (await ann.get("/api/audit", params={"limit": 3})).json()
        rest = (await ann.get("/api/audit", params={"limit": 3, "after": first["next"]})).json()
        assert [entry["action"] for entry in first["items"]] == ["tenant.retention", *["agent.create"] * 2]
        assert (len(rest["items"]), rest["next"]) == (1, None)

        async def count(**asked: str) -> int:
            answer: dict[str, Any] = (await ann.get("/api/audit", params=asked)).json()
            return len(answer["items"])

        assert (await count(action="agent.create"), await count(user="ann"), await count(user="bob")) == (
            3,
            1,
            0,
        )
        assert code_of(await ann.get("/api/audit", params={"after": "nonsense"})) == "invalid_cursor"


async def test_nobody_but_an_owner_reads_it_and_only_their_own() -> None:
    """B11: an admin is refused, another team sees nothing of it, and reading leaves no entry."""
    async with house() as place, place.client("cid") as admin, place.client("bob") as bob:
        await admin.post("/api/agents", json=AGENT)
        assert code_of(await admin.get("/api/audit")) == "forbidden"
        await place.store.set_role("other", "bob", "owner")
        assert (await bob.get("/api/audit")).json() == {"items": [], "next": None}
        assert await _log(place) == [("agent.create", "cid")]


async def test_a_request_that_is_refused_leaves_nothing() -> None:
    """B11: no entry without a change."""
    async with house() as place, place.client() as ann:
        assert (await ann.post("/api/agents", json={**AGENT, "model_provider": "nobody"})).status_code == 422
        assert (await ann.delete("/api/agents/agt_nobody")).status_code == 404
        assert (await ann.delete("/api/agent-sessions/ses_nobody")).status_code == 404
        assert await _log(place) == []


async def test_coming_failing_and_going_are_told() -> None:
    """B11, R2: a sign-in, one that failed, and a sign-out, with the address they came from."""
    async with house() as place:
        await add_account(place)
        async with await browser(place) as ann:
            right = {"email": "ann@example.com", "password": PASSWORD}
            assert (await ann.post("/api/sign-in", json=right)).status_code == 200
            wrong = {"email": "ann@example.com", "password": "not the password"}
            assert (await ann.post("/api/sign-in", json=wrong)).status_code == 401
            nobody = {"email": "nobody@example.com", "password": "not the password"}
            assert (await ann.post("/api/sign-in", json=nobody)).status_code == 401
            assert (await ann.post("/sign-out")).status_code == 204
        await soon(_until(place, "sign_in.fail"))
        log = await _log(place)
        assert log.count(("sign_in.fail", "ann")) == 1
        assert ("sign_in", "ann") in log
        assert ("sign_out", "ann") in log
        page = await place.store.list_audit("default", action="sign_in.fail")
        assert page.items[0].address == "203.0.113.9"


async def _until(place: House, action: str) -> None:
    while not (await place.store.list_audit("default", action=action)).items:
        pass
