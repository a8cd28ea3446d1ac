"""Forks over REST: once for a key, not too many, not too large, and refused in words for whatever is wrong."""

import asyncio

import httpx
import pytest
from msgspec import structs

from agio.errors import LimitExceeded
from agio.gateway.intake.forks import ForkRequest
from tests.support.engine import QUICK
from tests.support.house import ANN, House, code_of, house, ids_of

WRONG: list[object] = [
    *(None, [], "x", 1, {}),
    *(
        {"before": None},
        {"before": ""},
        {"before": 1},
        {"before": True},
        {"before": []},
        {"before": "x" * 201},
    ),
]
MORE: list[dict[str, object]] = [{"title": 1}, {"title": []}, {"title": "x" * 201}, {"after": "y"}]


async def test_a_fork_that_is_sent_again_with_its_key_is_the_same_session() -> None:
    """C5, C9: also at the same time; with other words the key is refused, and nothing is made."""
    async with house() as place, place.client() as ann:
        path, [first, second] = await _talk(place, ann)
        body = {"before": second, "title": "Anew"}
        sent = [ann.post(path, json=body, headers={"Idempotency-Key": "k"}) for _ in range(4)]
        made = await asyncio.gather(*sent)
        assert [answer.status_code for answer in made] == [201] * 4
        assert len({answer.json()["id"] for answer in made}) == 1
        again = await ann.post(path, json=body, headers={"Idempotency-Key": "k"})
        assert again.json() == made[0].json()
        for other in ({"before": first, "title": "Anew"}, {"before": second}):
            refused = await ann.post(path, json=other, headers={"Idempotency-Key": "k"})
            assert (refused.status_code, code_of(refused)) == (422, "idempotency_conflict")
        assert len((await ann.get("/api/agent-sessions")).json()["items"]) == 2
        await ann.delete(f"/api/agent-sessions/{again.json()['id']}")
        gone = await ann.post(path, json=body, headers={"Idempotency-Key": "k"})
        assert (gone.status_code, code_of(gone)) == (410, "session_deleted")
        for key in ("", "x" * 201, "a b"):
            refused = await ann.post(path, json=body, headers={"Idempotency-Key": key})
            assert (refused.status_code, code_of(refused)) == (422, "invalid_query"), key


async def test_another_fork_with_a_key_that_is_in_use_is_refused_at_once() -> None:
    """C9: what goes on is told from what is asked, before anything is copied."""
    async with house() as place, place.client() as ann:
        path, [first, second] = await _talk(place, ann)
        session_id = path.split("/")[3]
        forks = place.gateway.forks
        made, refused = await asyncio.gather(
            forks.make(ANN, ForkRequest(session_id=session_id, before=second, key="k")),
            forks.make(ANN, ForkRequest(session_id=session_id, before=first, key="k")),
            return_exceptions=True,
        )
        assert not isinstance(made, BaseException)
        assert "idempotency_conflict" in str(refused)


async def test_forks_are_counted_by_credential_and_by_user() -> None:
    """S14: a refusal says when the next is taken; another person's are their own."""
    async with house(structs.replace(QUICK, forks_per_minute=2)) as place, place.client() as ann:
        path, [_, second] = await _talk(place, ann)
        key = (await ann.post("/api/api-keys", json={"name": "second"})).json()
        also = place.client(None, {"authorization": f"Bearer {key['key']}"})
        for client in (ann, also):
            assert (await client.post(path, json={"before": second})).status_code == 201
        refused = await also.post(path, json={"before": second})
        assert (refused.status_code, code_of(refused)) == (429, "rate_limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 30
        cid = place.client("cid")
        assert code_of(await cid.post(path, json={"before": second})) == "session_not_found"


async def test_a_team_has_few_copies_made_at_a_time() -> None:
    """C9: one that is done makes room; whoever waits for the same copy needs none."""
    async with house(structs.replace(QUICK, forks_at_once=1)) as place, place.client() as ann:
        path, [_, second] = await _talk(place, ann)
        forks = place.gateway.forks
        asked = ForkRequest(session_id=path.split("/")[3], before=second, key="k")
        made, same, refused = await asyncio.gather(
            forks.make(ANN, asked),
            forks.make(ANN, asked),
            forks.make(ANN, structs.replace(asked, key=None)),
            return_exceptions=True,
        )
        assert made == same
        assert isinstance(refused, LimitExceeded)
        assert (refused.code, refused.details["retry_after_s"]) == ("too_many_forks", 2)
        assert (await ann.post(path, json={"before": second})).status_code == 201


@pytest.mark.parametrize("limits", [{"fork_events": 1}, {"fork_bytes": 1}])
async def test_a_session_that_is_too_large_to_copy_says_what_to_do(limits: dict[str, int]) -> None:
    """C9: what is before the first message is nothing, and always fits."""
    async with house(structs.replace(QUICK, **limits)) as place, place.client() as ann:
        path, [first, second] = await _talk(place, ann)
        refused = await ann.post(path, json={"before": second})
        assert (refused.status_code, code_of(refused)) == (413, "session_too_large")
        assert "Fork at an earlier message" in refused.text
        assert (await ann.post(path, json={"before": first})).status_code == 201


async def test_a_copied_run_is_not_listed_as_done_again() -> None:
    """C5: what an agent did in a month is listed once; the copy's own list says what each is a copy of."""
    async with house() as place, place.client() as ann:
        path, [_, second] = await _talk(place, ann)
        listed = ids_of((await ann.get("/api/runs")).json()["items"])
        fork = (await ann.post(path, json={"before": second})).json()
        assert ids_of((await ann.get("/api/runs")).json()["items"]) == listed
        assert ids_of((await ann.get("/api/runs?user=all")).json()["items"]) == listed
        [copied] = (await ann.get(f"/api/runs?session_id={fork['id']}")).json()["items"]
        assert copied["copied_from"] in listed
        assert (await ann.get(f"/api/runs/{copied['id']}")).json()["copied_from"] == copied["copied_from"]
        both = (await ann.get("/api/runs?copies=true")).json()["items"]
        assert {run["copied_from"] for run in both} == {None, copied["copied_from"]}
        own = await ann.get(f"/api/runs?session_id={fork['id']}&copies=false")
        assert own.json()["items"] == []
        assert code_of(await ann.get("/api/runs?copies=perhaps")) == "invalid_query"


async def test_what_cannot_be_forked_is_refused_with_a_reason() -> None:
    """C5, S14: wrong bodies, messages of others, of other sessions and of nobody; a copy of a copy of a copy is one."""
    limits = structs.replace(QUICK, running_per_user=20)
    async with house(limits) as place, place.client() as ann, place.client("bob") as bob:
        path, [_, second] = await _talk(place, ann)
        for wrong in (*WRONG, *({"before": second, **more} for more in MORE)):
            refused = await ann.post(path, json=wrong)
            assert (refused.status_code, code_of(refused)) == (422, "invalid_body"), wrong
        elsewhere, [theirs, _] = await _talk(place, ann, "Bea")
        for message_id in (theirs, "msg_none", "\ud800", "\0", "'; drop table runs; --"):
            refused = await ann.post(
                path, content=_json(message_id), headers={"content-type": "application/json"}
            )
            assert code_of(refused) in ("message_not_found", "invalid_body", "invalid_json"), message_id
        for client, where in ((bob, path), (ann, "/api/agent-sessions/ses_none/fork")):
            refused = await client.post(where, json={"before": second})
            assert (refused.status_code, code_of(refused)) == (404, "session_not_found")
        assert elsewhere != path
        fork = ""
        for _ in range(3):
            fork = (await ann.post(path, json={"before": second})).json()["id"]
            path = f"/api/agent-sessions/{fork}/fork"
            said = await ann.post(f"/api/agent-sessions/{fork}/message", json={"content": "And?"})
            second = said.json()["message_id"]
        shown = (await ann.get(f"/api/agent-sessions/{fork}")).json()
        assert [entry["role"] for entry in shown["messages"]].count("user") == 2


async def _talk(place: House, client: httpx.AsyncClient, agent: str = "Ada") -> tuple[str, list[str]]:
    """A session with one run that ended and one that waits; where it is forked, and its user's messages."""
    session_id = await place.start_session(client, name=agent)
    _, hand = await place.begin(client, session_id, "one")
    await hand.finish()
    path = f"/api/agent-sessions/{session_id}"
    await client.post(f"{path}/message", json={"content": "two"})
    shown = (await client.get(path)).json()
    return f"{path}/fork", [entry["id"] for entry in shown["messages"] if entry["role"] == "user"]


def _json(message_id: str) -> bytes:
    """As a client writes it that escapes everything."""
    escaped = "".join(f"\\u{ord(each):04x}" for each in message_id)
    return f'{{"before": "{escaped}"}}'.encode()
