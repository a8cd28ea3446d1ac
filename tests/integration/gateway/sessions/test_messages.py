"""What is said over REST: messages, keys that make them safe to repeat, answers, results, and stop."""

import asyncio
from typing import Any

import httpx
import pytest

from agio.core.config import ServerLimits
from tests.integration.gateway.open_calls import end_with_call, end_with_question
from tests.support.engine import QUICK, Hand, soon
from tests.support.house import code_of, house


async def _send(
    client: httpx.AsyncClient, session_id: str, body: object, key: str | None = None
) -> httpx.Response:
    headers = {} if key is None else {"idempotency-key": key}
    return await client.post(f"/api/agent-sessions/{session_id}/message", json=body, headers=headers)


async def test_a_message_is_answered_with_its_run() -> None:
    """R3, C5: 202 with the ids; stored before it is answered, run by whoever is there."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        sent = await _send(client, session_id, {"content": "Hi"})
        assert sent.status_code == 202
        body = sent.json()
        assert body["session_id"] == session_id
        assert (body["status"], body["repeated"]) == ("queued", False)
        shown = (await client.get(f"/api/agent-sessions/{session_id}")).json()["messages"]
        assert [(entry["id"], entry["run_id"]) for entry in shown] == [(body["message_id"], body["run_id"])]
        worker, _ = await place.joined()
        assert (await worker.next_job()).claim.run_id == body["run_id"]


async def test_a_message_begins_at_once_where_somebody_has_room() -> None:
    """R3: the answer says that it is running."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        await place.joined()
        assert (await _send(client, session_id, {"content": "Hi"})).json()["status"] == "running"


async def test_a_message_may_have_parts() -> None:
    """C5: AG-UI content parts go into the log as they are."""
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
    ]
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        assert (await _send(client, session_id, {"content": parts})).status_code == 202
        (message,) = (await client.get(f"/api/agent-sessions/{session_id}")).json()["messages"]
        assert message["message"]["content"] == parts


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_body"),
        ({"content": None}, "invalid_body"),
        ({"content": 5}, "invalid_body"),
        ({"content": []}, "invalid_body"),
        ({"content": ["Hi"]}, "invalid_body"),
        ({"content": [{"type": "text"}]}, "invalid_body"),
        ({"content": [{"type": "spell", "text": "x"}]}, "invalid_body"),
        ({"content": "Hi", "role": "system"}, "invalid_body"),
        ({"content": "Hi", "on_busy": "shout"}, "invalid_body"),
        ({"content": "Hi", "client_message_id": ""}, "invalid_body"),
        ({"content": "Hi", "client_message_id": "x" * 201}, "invalid_body"),
        ({"content": ""}, "empty_message"),
        ({"content": " \n"}, "empty_message"),
        ({"content": "x" * (256 * 1024 + 1)}, "message_too_large"),
    ],
)
async def test_what_is_not_a_message_is_refused(body: dict[str, Any], code: str) -> None:
    """C5: with a code, and nothing is stored."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        refused = await _send(client, session_id, body)
        assert code_of(refused) == code
        assert refused.status_code == (413 if code == "message_too_large" else 422)
        assert (await client.get("/api/runs")).json()["items"] == []


async def test_the_same_key_and_body_is_the_same_message() -> None:
    """R3: also when many come at once; the header and the body's client_message_id are the same thing."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        first = (await _send(client, session_id, {"content": "Hi"}, "key-1")).json()
        again = await asyncio.gather(
            *(_send(client, session_id, {"content": "Hi"}, "key-1") for _ in range(20))
        )
        assert {answer.status_code for answer in again} == {202}
        assert all(answer.json() == {**first, "repeated": True} for answer in again)
        named = await _send(client, session_id, {"content": "Hi", "client_message_id": "key-1"})
        assert named.json()["run_id"] == first["run_id"]
        assert len((await client.get("/api/runs")).json()["items"]) == 1
        other = await _send(client, session_id, {"content": "Ho"}, "key-1")
        assert (other.status_code, code_of(other)) == (422, "idempotency_conflict")
        both = await _send(client, session_id, {"content": "Hi", "client_message_id": "key-2"}, "key-1")
        assert code_of(both) == "invalid_body"


async def test_a_repeated_message_is_answered_with_what_became_of_it() -> None:
    """R3: after the run has ended, the repeat says so."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        worker, link = await place.joined()
        sent = (await _send(client, session_id, {"content": "Hi"}, "k")).json()
        hand = Hand(link, await worker.next_job())
        await hand.finish()
        again = (await _send(client, session_id, {"content": "Hi"}, "k")).json()
        assert again == {**sent, "status": "completed", "repeated": True}


@pytest.mark.parametrize("key", ["", "x" * 201, "with space", "ünïcode"])
async def test_a_key_that_cannot_be_one_is_refused(key: str) -> None:
    """R3: 1 to 200 printable characters."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        refused = await client.post(
            f"/api/agent-sessions/{session_id}/message",
            json={"content": "Hi"},
            headers=[(b"idempotency-key", key.encode("latin-1"))],
        )
        assert (refused.status_code, code_of(refused)) == (422, "invalid_query")


async def test_a_busy_session_does_as_it_is_told() -> None:
    """C5: queue, refuse or interrupt, as the session or the message says."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        run_id, hand = await place.begin(client, session_id)
        await hand.say("Well")
        refused = await _send(client, session_id, {"content": "More", "on_busy": "refuse"})
        assert (refused.status_code, code_of(refused)) == (409, "session_busy")
        assert (await _send(client, session_id, {"content": "More"})).json()["status"] == "queued"
        assert (
            await _send(client, session_id, {"content": "Now", "on_busy": "interrupt"})
        ).status_code == 202
        assert (await client.get(f"/api/runs/{run_id}")).json()["cancel_requested"] is True


async def test_too_much_at_once_is_a_429_with_a_time() -> None:
    """C9: an API key's limit of sessions and a tenant's queue."""
    limits = ServerLimits(running_per_key=1, queued_per_tenant=2, tick_s=QUICK.tick_s)
    async with house(limits) as place, place.client() as client:
        first = await place.start_session(client)
        await place.joined()
        assert (await _send(client, first, {"content": "Hi"})).status_code == 202
        agent_id = (await client.get(f"/api/agent-sessions/{first}")).json()["agent_id"]
        second = (await client.post(f"/api/agents/{agent_id}/sessions")).json()["id"]
        busy = await _send(client, second, {"content": "Hi"})
        assert (busy.status_code, code_of(busy)) == (429, "too_many_sessions")
        assert int(busy.headers["retry-after"]) > 0
        for _ in range(2):
            assert (await _send(client, first, {"content": "More"})).status_code == 202
        full = await _send(client, first, {"content": "More"})
        assert (full.status_code, code_of(full)) == (429, "queue_full")


async def test_cancelling_stops_what_runs_and_what_waits() -> None:
    """C5: a session's runs, or one; what has ended stays as it is."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        worker, link = await place.joined()
        runs = [(await _send(client, session_id, {"content": "Hi"})).json()["run_id"] for _ in range(2)]
        hand = Hand(link, await worker.next_job())
        await hand.say("Well")
        cancelled = await client.post(f"/api/agent-sessions/{session_id}/cancel")
        assert cancelled.status_code == 202
        assert {(run["run_id"], run["status"]) for run in cancelled.json()["runs"]} == {
            (runs[0], "running"), (runs[1], "queued"),
        }  # fmt: skip
        assert (await soon(worker.cancelled.get()))[0] == runs[0]
        await hand.finish()
        again = await client.post(f"/api/runs/{runs[0]}/cancel")
        assert (again.status_code, again.json()) == (202, {"runs": []})
        assert code_of(await client.post("/api/runs/run_none/cancel")) == "run_not_found"


async def test_a_question_is_shown_with_exactly_what_would_be_called_and_answered() -> None:
    """C5, B7: the answer starts the next run, which knows what was decided."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        path = f"/api/agent-sessions/{session_id}"
        worker, link = await place.joined()
        await _send(client, session_id, {"content": "Mail Bob"})
        question = await end_with_question(Hand(link, await worker.next_job()))
        status = (await client.get(f"{path}/status")).json()
        assert status["state"] == "waiting"
        (asked,) = status["interrupts"]
        assert (asked["id"], asked["tool"], asked["arguments"]) == (question, "send_mail", '{"to":"bob"}')
        assert (asked["state"], asked["message"]) == ("open", "May Ada?")

        answer = {
            "interrupt_id": question,
            "approved": True,
            "edited_args": {"to": "eve"},
            "reason": "better",
        }
        answered = await client.post(f"{path}/answer", json={"answers": [answer]})
        assert answered.status_code == 202
        job = await worker.next_job()
        assert job.claim.run_id == answered.json()["run_id"]
        assert b'"editedArgs":{"to":"eve"}' in job.log.payload
        assert (await client.get(f"{path}/interrupts")).json()["items"][0]["state"] == "resolved"
        twice = await client.post(f"{path}/answer", json={"answers": [answer]})
        assert (twice.status_code, code_of(twice)) == (409, "interrupt_closed")


async def test_a_question_may_be_dismissed_or_rejected() -> None:
    """B7: the model is told why."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        worker, link = await place.joined()
        await _send(client, session_id, {"content": "Mail Bob"})
        for answer, told in (
            ({"approved": False, "reason": "too early"}, b'"reason":"too early"'),
            ({"dismissed": True}, b'"status":"cancelled"'),
        ):
            question = await end_with_question(Hand(link, await worker.next_job()))
            body = {"answers": [{"interrupt_id": question, **answer}]}
            assert (
                await client.post(f"/api/agent-sessions/{session_id}/answer", json=body)
            ).status_code == 202
            job = await worker.next_job()
            assert told in job.log.payload
            worker.jobs.put_nowait(job)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"approved": True, "dismissed": True},
        {"approved": "yes"},
        {"dismissed": False},
        {"approved": False, "edited_args": {}},
        {"approved": True, "edited_args": []},
        {"dismissed": True, "reason": "x"},
    ],
)
async def test_half_an_answer_runs_nothing(answer: dict[str, object]) -> None:
    """B7: what is not understood is refused, not guessed."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        body = {"answers": [{"interrupt_id": "int_1", **answer}]}
        refused = await client.post(f"/api/agent-sessions/{session_id}/answer", json=body)
        assert (refused.status_code, code_of(refused)) == (422, "invalid_body")


async def test_an_answer_to_no_question_is_refused() -> None:
    """B7: an unknown question, and one answered twice in one go."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        path = f"/api/agent-sessions/{session_id}/answer"
        one = {"interrupt_id": "int_1", "approved": True}
        assert code_of(await client.post(path, json={"answers": [one]})) == "unknown_interrupt"
        assert code_of(await client.post(path, json={"answers": [one, one]})) == "invalid_body"
        assert code_of(await client.post(path, json={"answers": []})) == "invalid_body"


async def test_results_of_client_side_tools_go_on_with_the_run() -> None:
    """C5: by call id; one that nobody waits for is refused."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        path = f"/api/agent-sessions/{session_id}"
        worker, link = await place.joined()
        await _send(client, session_id, {"content": "Pick"})
        call_id = await end_with_call(Hand(link, await worker.next_job()))
        assert (await client.get(f"{path}/status")).json()["pending"] == [call_id]
        unknown = await client.post(f"{path}/tool-results", json={"results": {"call_none": "red"}})
        assert (unknown.status_code, code_of(unknown)) == (422, "unknown_tool_call")
        taken = await client.post(f"{path}/tool-results", json={"results": {call_id: "red"}})
        assert taken.status_code == 202
        job = await worker.next_job()
        assert job.claim.run_id == taken.json()["run_id"]
        assert b'"content":"red"' in job.log.payload
        assert (await client.get(f"{path}/status")).json()["pending"] == []
        for results in ({}, {call_id: 5}, {call_id: None}, {"": "x"}):
            refused = await client.post(f"{path}/tool-results", json={"results": results})
            assert code_of(refused) == "invalid_body"
