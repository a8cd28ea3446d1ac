"""Runs of a team over REST: what they used, when they were, and who may see whose."""

import httpx
import pytest

from agio.core.model import Usage
from tests.support.house import House, code_of, house, ids_of


async def _runs(place: House) -> dict[str, str]:
    """Let Ann, Cid and Bob of another team run once each; returns the runs by user."""
    made: dict[str, str] = {}
    for user in ("ann", "cid", "bob"):
        async with place.client(user) as client:
            made[user], hand = await place.begin(client, await place.start_session(client, name=user))
            await hand.say("Here")
            hand.turn(Usage(input=1000, output=500))
            await hand.finish()
    return made


async def _member(place: House, user: str) -> None:
    await place.store.add_user("default", "olga", "Olga", "owner")
    await place.store.set_role("default", user, "member")


async def test_a_run_says_whose_it_is_and_what_it_used() -> None:
    """C8, C2: with its end come steps and tokens, in the list and by itself; before that there are none."""
    async with house() as place, place.client() as client:
        run_id, hand = await place.begin(client, await place.start_session(client))
        await hand.say("Here")
        hand.turn(Usage(input=1000, output=500))
        running = (await client.get(f"/api/runs/{run_id}")).json()
        used = ("steps", "input_tokens", "output_tokens", "cost")
        assert [running[name] for name in used] == [None] * 4
        assert (running["user"], running["user_name"]) == ("ann", "Ann")
        await hand.finish()
        ended = (await client.get(f"/api/runs/{run_id}")).json()
        assert [ended[name] for name in used[:3]] == [1, 1000, 500]
        assert (await client.get("/api/runs")).json()["items"] == [ended]


async def test_whoever_manages_a_team_sees_everybodys_runs() -> None:
    """C2, C8: the list, a run, its events and its calls; no other team's, and no conversation."""
    async with house() as place, place.client("cid") as admin:
        runs = await _runs(place)
        assert ids_of((await admin.get("/api/runs")).json()["items"]) == [runs["cid"]]
        everybodys = (await admin.get("/api/runs?user=all")).json()["items"]
        assert [(run["id"], run["user_name"]) for run in everybodys] == [
            (runs["cid"], "Cid"),
            (runs["ann"], "Ann"),
        ]
        (anns,) = (await admin.get("/api/runs?user=ann")).json()["items"]
        assert anns == (await admin.get(f"/api/runs/{runs['ann']}")).json()
        assert (await admin.get(f"/api/runs/{runs['ann']}/events")).content.count(b"\n") == anns["last_seq"]
        assert (await admin.get(f"/api/runs/{runs['ann']}/tools")).json() == {"items": [], "next": None}
        of_session = await admin.get(f"/api/runs?user=all&session_id={anns['session_id']}")
        assert ids_of(of_session.json()["items"]) == [runs["ann"]]
        for path in ("", "/events", "/status", "/interrupts"):
            assert (await admin.get(f"/api/agent-sessions/{anns['session_id']}{path}")).status_code == 404
        assert code_of(await admin.post(f"/api/runs/{runs['ann']}/cancel")) == "run_not_found"
        for user in ("bob", "nobody"):
            assert (await admin.get(f"/api/runs?user={user}")).json()["items"] == []
        for path in ("", "/events", "/tools"):
            assert code_of(await admin.get(f"/api/runs/{runs['bob']}{path}")) == "run_not_found"


async def test_who_does_not_manage_sees_ones_own() -> None:
    """C2: another's list is forbidden, another's run is not there; one's own id may be said."""
    async with house() as place:
        runs = await _runs(place)
        await place.add("cid", "default")  # with a key whose role nobody has looked up yet
        await _member(place, "cid")
        async with place.client("cid") as member:
            await _check_member(member, runs)


async def _check_member(member: httpx.AsyncClient, runs: dict[str, str]) -> None:
    for user in ("all", "ann", "bob", "nobody"):
        refused = await member.get(f"/api/runs?user={user}")
        assert (refused.status_code, code_of(refused)) == (403, "forbidden")
    assert ids_of((await member.get("/api/runs?user=cid")).json()["items"]) == [runs["cid"]]
    for path in ("", "/events", "/tools"):
        assert code_of(await member.get(f"/api/runs/{runs['ann']}{path}")) == "run_not_found"
        assert (await member.get(f"/api/runs/{runs['cid']}{path}")).status_code == 200


async def test_a_user_who_is_called_all_is_not_everybody() -> None:
    """C2: the word is never somebody's id."""
    async with house() as place:
        runs = await _runs(place)
        await place.add("all", "default")
        await _member(place, "all")
        async with place.client("all") as member:
            assert code_of(await member.get("/api/runs?user=all")) == "forbidden"
            assert (await member.get("/api/runs")).json()["items"] == []
            assert code_of(await member.get(f"/api/runs/{runs['ann']}")) == "run_not_found"


async def test_a_key_that_may_only_use_sees_no_colleagues_runs() -> None:
    """C2: an admin's key without `manage` is as a member's."""
    async with house() as place, place.client() as admin:
        runs = await _runs(place)
        body = {"name": "narrow", "permissions": ["use"]}
        key = (await admin.post("/api/api-keys", json=body)).json()["key"]
        async with place.client(None, {"authorization": f"Bearer {key}"}) as narrow:
            assert code_of(await narrow.get("/api/runs?user=all")) == "forbidden"
            assert code_of(await narrow.get(f"/api/runs/{runs['cid']}")) == "run_not_found"
            assert ids_of((await narrow.get("/api/runs")).json()["items"]) == [runs["ann"]]


async def test_runs_are_found_by_when_they_were() -> None:
    """C5: from `since` on and before `until`, with other filters and in pages."""
    async with house() as place, place.client() as client:
        runs = await _runs(place)
        at = (await client.get(f"/api/runs/{runs['ann']}")).json()["created_at"]
        for query, expected in (
            (f"since={at}", ["ann"]),
            (f"since={at + 1}", []),
            (f"until={at}", []),
            (f"until={at + 1}&status=completed", ["ann"]),
            (f"since={at}&until={at}", []),
            (f"since={at}&user=all&limit=1", ["cid"]),
        ):
            listed = (await client.get(f"/api/runs?{query}")).json()["items"]
            assert ids_of(listed) == [runs[user] for user in expected], query


@pytest.mark.parametrize("query", ["since=-1", "until=x", "since=1e3", f"until={10**30}", "user=", "since="])
async def test_times_and_users_that_are_none_are_refused(query: str) -> None:
    """C2: with a code, and not by an empty list."""
    async with house() as place, place.client() as client:
        assert code_of(await client.get(f"/api/runs?{query}")) == "invalid_query"
