"""Runs over REST, and the log as it was streamed."""

import msgspec

from tests.support.engine import Hand
from tests.support.house import code_of, house, ids_of, lines_of


async def test_runs_are_listed_newest_first_and_filtered() -> None:
    """L9, L10: by session, agent and status, in pages."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        agent_id = (await client.get(f"/api/agent-sessions/{session_id}")).json()["agent_id"]
        worker, link = await place.joined()
        made: list[str] = []
        for text in ("one", "two", "three"):
            sent = await client.post(f"/api/agent-sessions/{session_id}/message", json={"content": text})
            made.insert(0, sent.json()["run_id"])
        await Hand(link, await worker.next_job()).finish()
        runs = (await client.get("/api/runs")).json()
        assert ids_of(runs["items"]) == made
        assert [run["title"] for run in runs["items"]] == ["three", "two", "one"]
        page = (await client.get("/api/runs?limit=2")).json()
        assert ids_of(page["items"]) == made[:2]
        assert ids_of((await client.get(f"/api/runs?after={page['next']}")).json()["items"]) == made[2:]
        for query, expected in (
            (f"session_id={session_id}", made),
            (f"agent_id={agent_id}", made),
            ("session_id=ses_none", []),
            ("status=completed", made[2:]),
            ("status=queued", made[:1]),
        ):
            assert ids_of((await client.get(f"/api/runs?{query}")).json()["items"]) == expected, query
        assert code_of(await client.get("/api/runs?status=lost")) == "invalid_query"
        assert code_of(await client.get("/api/runs?after=x")) == "invalid_cursor"


async def test_a_run_tells_its_state_and_keeps_its_secrets() -> None:
    """L9: what a client may know; neither tokens nor marks nor who works on it."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        run_id, hand = await place.begin(client, session_id)
        running = (await client.get(f"/api/runs/{run_id}")).json()
        assert (running["id"], running["session_id"], running["status"]) == (run_id, session_id, "running")
        assert (running["agent_name"], running["epoch"]) == ("Ada", 1)
        assert running["model"].endswith("demo")
        assert {"token_hash", "mark", "tenant", "worker"}.isdisjoint(running)
        await hand.finish()
        done = (await client.get(f"/api/runs/{run_id}")).json()
        assert (done["status"], done["error_code"], done["last_seq"]) == ("completed", None, 2)
        assert done["ended_at"] >= done["started_at"] >= done["created_at"]


async def test_the_log_is_read_after_any_event() -> None:
    """L9: by position in the session and by sequence number in the run; to the byte, with nothing missing."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        worker, link = await place.joined()
        runs: list[str] = []
        for text in ("one", "two"):
            sent = await client.post(f"/api/agent-sessions/{session_id}/message", json={"content": text})
            runs.append(sent.json()["run_id"])
            hand = Hand(link, await worker.next_job())
            await hand.say(f"You said {text}")
            await hand.finish()
        whole = await client.get(f"/api/agent-sessions/{session_id}/events")
        parts = [await client.get(f"/api/runs/{run_id}/events") for run_id in runs]
        assert whole.content == b"".join(part.content for part in parts)
        stored = [(await place.store.get_log(run_id)).payload for run_id in runs]
        assert whole.content == b"".join(stored)
        assert [event["type"] for event in lines_of(parts[0])] == [
            "RUN_STARTED", "STEP_STARTED", "TEXT_MESSAGE_CHUNK", "STEP_FINISHED", "RUN_FINISHED",
        ]  # fmt: skip
        lines = whole.content.splitlines(keepends=True)
        for after in range(len(lines) + 2):
            rest = await client.get(f"/api/agent-sessions/{session_id}/events?after={after}")
            assert rest.content == b"".join(lines[after:])
        second = await client.get(f"/api/runs/{runs[1]}/events?after=3")
        assert [msgspec.json.decode(line)["metadata"]["seq"] for line in second.content.splitlines()] == [
            4,
            5,
        ]


async def test_a_long_log_is_streamed_in_pages() -> None:
    """L9: larger than a page, and of a run that is going on."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        run_id, hand = await place.begin(client, session_id)
        for number in range(12):
            await hand.say(f"{number} " + "x" * 60_000)
        for path in (f"/api/agent-sessions/{session_id}/events", f"/api/runs/{run_id}/events"):
            async with client.stream("GET", path) as answer:
                pieces = [piece async for piece in answer.aiter_raw()]
            assert len(b"".join(pieces).splitlines()) == 14
            assert b"".join(pieces) == (await place.store.get_log(run_id)).payload


async def test_a_log_that_is_empty_is_answered_with_nothing() -> None:
    """L9: a session without a run, and a run that has not begun."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        assert (await client.get(f"/api/agent-sessions/{session_id}/events")).content == b""
        sent = await client.post(f"/api/agent-sessions/{session_id}/message", json={"content": "Hi"})
        queued = await client.get(f"/api/runs/{sent.json()['run_id']}/events")
        assert (queued.status_code, queued.content) == (200, b"")


async def test_tool_calls_of_a_run_are_listed_as_recorded() -> None:
    """C3, L9: begun before it acted, with its effect."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        run_id, hand = await place.begin(client, session_id)
        key = await hand.ask("send_mail", '{"to":"bob"}')
        (call,) = (await client.get(f"/api/runs/{run_id}/tools")).json()["items"]
        assert (call["key"], call["tool"], call["effect"], call["state"]) == (
            key,
            "send_mail",
            "once",
            "started",
        )
        assert (call["error"], call["ended_at"]) == (None, None)
