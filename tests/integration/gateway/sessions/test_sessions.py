"""Sessions over REST: start, list, get with messages, change, status, delete."""

import msgspec
from msgspec.structs import replace

from tests.support.engine import QUICK, Hand
from tests.support.house import AGENT, code_of, house, ids_of


async def test_a_session_is_started_listed_renamed_and_deleted() -> None:
    """C5: the life of a session without a message."""
    async with house() as place, place.client() as client:
        agent_id = (await client.post("/api/agents", json=AGENT)).json()["id"]
        started = await client.post(
            f"/api/agents/{agent_id}/sessions", json={"title": "Plans", "on_busy": "refuse"}
        )
        assert started.status_code == 201
        session = started.json()
        assert (session["title"], session["on_busy"], session["state"]) == ("Plans", "refuse", "idle")
        assert (session["agent_id"], session["agent_name"], session["last_pos"]) == (agent_id, "Ada", 0)
        path = f"/api/agent-sessions/{session['id']}"
        shown = (await client.get(path)).json()
        empty: dict[str, object] = {
            "messages": [],
            "next": None,
            "previous": None,
            "stream_after": 0,
            "branches": [],
        }
        assert shown == {**session, **empty, "shown_leaf": None}
        changed = await client.patch(path, json={"title": "Schemes"})
        assert (changed.json()["title"], changed.json()["on_busy"]) == ("Schemes", "refuse")
        assert (await client.patch(path, json={"on_busy": "interrupt"})).json()["title"] == "Schemes"
        assert code_of(await client.patch(path, json={})) == "invalid_body"
        assert code_of(await client.patch(path, json={"title": "x" * 201})) == "invalid_body"
        assert ids_of((await client.get("/api/agent-sessions?search=chem")).json()["items"]) == [
            session["id"]
        ]
        assert (await client.get("/api/agent-sessions?search=Plans")).json()["items"] == []
        assert (await client.delete(path)).status_code == 204
        for refused in (
            await client.get(path),
            await client.delete(path),
            await client.get(f"{path}/status"),
        ):
            assert (refused.status_code, code_of(refused)) == (404, "session_not_found")


async def test_a_search_answers_with_the_place() -> None:
    """C5: the message and the words around it as plain text, null for a title, and no search of any length."""
    async with house() as place, place.client() as client:
        agent_id = (await client.post("/api/agents", json=AGENT)).json()["id"]
        session = (await client.post(f"/api/agents/{agent_id}/sessions", json={"title": "Beasts"})).json()
        sent = await client.post(
            f"/api/agent-sessions/{session['id']}/message", json={"content": "Is <b>100%</b> of it an Otter?"}
        )

        async def found(search: str) -> list[object]:
            answered = await client.get("/api/agent-sessions", params={"search": search})
            return [item["found"] for item in answered.json()["items"]]

        assert await found("OTTER") == [
            {
                "message_id": sent.json()["message_id"],
                "run_id": sent.json()["run_id"],
                "before": "Is <b>100%</b> of it an ",
                "match": "Otter",
                "after": "?",
            }
        ]
        assert await found("beasts") == [None]
        assert await found("") == [None]
        assert await found("1000%") == await found("o_ter") == await found("' or 1=1 --") == []
        too_long = await client.get("/api/agent-sessions", params={"search": "ß" * 10_240})
        assert (too_long.status_code, code_of(too_long)) == (422, "invalid_query")


async def test_sessions_are_listed_by_agent_and_in_pages() -> None:
    """C5: those changed last come first, each once."""
    async with house() as place, place.client() as client:
        first = (await client.post("/api/agents", json=AGENT)).json()["id"]
        second = (await client.post("/api/agents", json={**AGENT, "name": "Bea"})).json()["id"]
        made = [(await client.post(f"/api/agents/{first}/sessions")).json()["id"] for _ in range(5)]
        other = (await client.post(f"/api/agents/{second}/sessions")).json()["id"]
        assert ids_of((await client.get(f"/api/agents/{second}/sessions")).json()["items"]) == [other]
        assert ids_of((await client.get(f"/api/agent-sessions?agent_id={second}")).json()["items"]) == [other]
        page = (await client.get(f"/api/agents/{first}/sessions?limit=2")).json()
        rest = (await client.get(f"/api/agents/{first}/sessions?limit=9&after={page['next']}")).json()
        assert sorted(ids_of(page["items"]) + ids_of(rest["items"])) == sorted(made)
        assert (len(page["items"]), rest["next"]) == (2, None)
        assert code_of(await client.get("/api/agents/agt_none/sessions")) == "agent_not_found"
        assert code_of(await client.get("/api/agent-sessions?after=x")) == "invalid_cursor"


async def test_no_session_is_started_with_an_agent_that_rests() -> None:
    """C2, C5: an inactive agent takes nobody."""
    async with house() as place, place.client() as client:
        agent = (await client.post("/api/agents", json={**AGENT, "status": "inactive"})).json()
        refused = await client.post(f"/api/agents/{agent['id']}/sessions")
        assert (refused.status_code, code_of(refused)) == (409, "agent_inactive")


async def test_a_session_is_read_with_its_messages_page_by_page() -> None:
    """C5: the conversation in order, as AG-UI spells it."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        worker, link = await place.joined()
        for number in range(3):
            await client.post(f"/api/agent-sessions/{session_id}/message", json={"content": f"ask {number}"})
            hand = Hand(link, await worker.next_job())
            await hand.say(f"answer {number}")
            await hand.finish()
        shown = (await client.get(f"/api/agent-sessions/{session_id}")).json()
        texts = [entry["message"]["content"] for entry in shown["messages"]]
        assert texts == ["ask 0", "answer 0", "ask 1", "answer 1", "ask 2", "answer 2"]
        assert [entry["role"] for entry in shown["messages"]][:2] == ["user", "assistant"]
        assert (shown["state"], shown["stream_after"], shown["title"]) == ("idle", shown["last_pos"], "ask 0")
        positions = [entry["pos"] for entry in shown["messages"]]
        assert positions == sorted(positions)
        seen: list[str] = []
        after = ""
        while True:
            page = (await client.get(f"/api/agent-sessions/{session_id}?limit=4{after}")).json()
            seen += [entry["message"]["content"] for entry in page["messages"]]
            if page["next"] is None:
                break
            assert page["stream_after"] is None
            after = f"&after={page['next']}"
        assert seen == texts


async def test_a_session_is_opened_at_its_end() -> None:
    """C5: the newest messages with one request, those before with the next, each once."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        worker, link = await place.joined()
        path = f"/api/agent-sessions/{session_id}"
        for number in range(3):
            await client.post(f"{path}/message", json={"content": f"ask {number}"})
            hand = Hand(link, await worker.next_job())
            await hand.say(f"answer {number}")
            await hand.finish()
        whole = (await client.get(path)).json()
        tail = (await client.get(f"{path}?tail=true&limit=4")).json()
        assert tail["messages"] == whole["messages"][2:]
        assert (tail["next"], tail["stream_after"]) == (None, whole["last_pos"])
        first = (await client.get(f"{path}?before={tail['previous']}&limit=4")).json()
        assert first["messages"] == whole["messages"][:2]
        assert (first["previous"], first["stream_after"]) == (None, None)
        assert (await client.get(f"{path}?after={first['next']}")).json()["messages"] == tail["messages"]
        every = (await client.get(f"{path}?tail=true")).json()
        assert (every["messages"], every["previous"]) == (whole["messages"], None)
        for query in (
            f"after={first['next']}&tail=true",
            f"after=x&before={tail['previous']}",
            "tail=perhaps",
        ):
            refused = await client.get(f"{path}?{query}")
            assert (refused.status_code, code_of(refused)) == (422, "invalid_query")
        assert code_of(await client.get(f"{path}?before=x")) == "invalid_cursor"


async def test_the_last_page_has_what_is_going_on_and_what_waits() -> None:
    """C5, C7: as small as a page may be, what the run has finished is on the last one, and nothing is twice."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client, tools=["calculator"])
        _, hand = await place.begin(client, session_id, "What is 6 * 7?")
        await hand.ask("calculator", '{"expression":"6*7"}', "read")
        path = f"/api/agent-sessions/{session_id}"
        await client.post(f"{path}/message", json={"content": "And then?"})
        whole = (await client.get(path)).json()
        assert (await client.get(f"{path}?tail=true")).json() == whole
        tail = (await client.get(f"{path}?tail=true&limit=1")).json()
        assert [entry["role"] for entry in tail["messages"]] == ["assistant", "user"]
        assert tail["stream_after"] == whole["stream_after"]
        first = (await client.get(f"{path}?before={tail['previous']}&limit=1")).json()
        assert first["messages"] + tail["messages"] == whole["messages"]
        page = (await client.get(f"{path}?limit=1")).json()
        rest = (await client.get(f"{path}?limit=1&after={page['next']}")).json()
        assert page["messages"] + rest["messages"] == whole["messages"]


async def test_a_page_has_a_limit_of_bytes_and_leaves_a_long_run_to_the_stream() -> None:
    """C5, C7: messages end at `page_bytes`; the events of a run that is larger come after `stream_after`."""
    async with house(replace(QUICK, page_bytes=2000)) as place, place.client() as client:
        session_id = await place.start_session(client)
        path = f"/api/agent-sessions/{session_id}"
        _, hand = await place.begin(client, session_id, "a" * 1500)
        await hand.say("b" * 1500)
        await hand.finish()
        page = (await client.get(path)).json()
        assert [entry["role"] for entry in page["messages"]] == ["user"]
        rest = (await client.get(f"{path}?after={page['next']}")).json()
        assert [entry["role"] for entry in rest["messages"]] == ["assistant"]
        _, hand = await place.begin(client, session_id, "c" * 2500)
        await hand.say("d")
        tail = (await client.get(f"{path}?tail=true")).json()
        log = (await client.get(f"{path}/events?after={tail['stream_after']}")).text
        assert msgspec.json.decode(log.splitlines()[0])["type"] == "RUN_STARTED"


async def test_a_session_knows_how_far_it_was_read() -> None:
    """C5: a client says so; what comes later is new, and no list is shuffled by it."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        _, hand = await place.begin(client, session_id)
        await hand.finish()
        path = f"/api/agent-sessions/{session_id}"
        shown = (await client.get(path)).json()
        assert (shown["seen_pos"], shown["forked_from"]) == (0, None)
        assert shown["last_pos"] > 1
        seen = (await client.patch(path, json={"seen_pos": 10**9})).json()
        assert (seen["seen_pos"], seen["updated_at"]) == (shown["last_pos"], shown["updated_at"])
        assert (await client.patch(path, json={"seen_pos": 0})).json()["seen_pos"] == shown["last_pos"]
        for wrong in (-1, 1.5, "1", True, None, 2**53, [1]):
            refused = await client.patch(path, json={"seen_pos": wrong})
            assert (refused.status_code, code_of(refused)) == (422, "invalid_body"), wrong


async def test_a_running_run_shows_what_it_has_finished_and_where_the_stream_goes_on() -> None:
    """C5, C7: messages up to a position, and a stream after it: together everything, nothing twice."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client, tools=["calculator"])
        run_id, hand = await place.begin(client, session_id, "What is 6 * 7?")
        await hand.ask("calculator", '{"expression":"6*7"}', "read")
        await client.post(f"/api/agent-sessions/{session_id}/message", json={"content": "And then?"})
        shown = (await client.get(f"/api/agent-sessions/{session_id}")).json()
        roles = [(entry["role"], entry["run_id"] == run_id) for entry in shown["messages"]]
        assert roles == [("user", True), ("assistant", True), ("user", False)]
        call = shown["messages"][1]["message"]["toolCalls"][0]
        assert call["function"] == {"name": "calculator", "arguments": '{"expression":"6*7"}'}
        assert shown["stream_after"] == shown["last_pos"]

        await hand.say("It is")
        half = (await client.get(f"/api/agent-sessions/{session_id}")).json()
        assert [entry["id"] for entry in half["messages"]] == [entry["id"] for entry in shown["messages"]]
        log = (await client.get(f"/api/agent-sessions/{session_id}/events?after={half['stream_after']}")).text
        assert [msgspec.json.decode(line)["delta"] for line in log.splitlines()] == ["It is"]


async def test_the_status_follows_the_run() -> None:
    """C5: state, step, and whether the goal was met."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        path = f"/api/agent-sessions/{session_id}/status"
        assert (await client.get(path)).json() == {
            "state": "idle",
            "run_id": None,
            "run_status": None,
            "step": 0,
            "goal_met": None,
            "last_pos": 0,
            "pending": [],
            "interrupts": [],
        }
        sent = (await client.post(f"/api/agent-sessions/{session_id}/message", json={"content": "Hi"})).json()
        assert (await client.get(path)).json()["state"] == "queued"
        worker, link = await place.joined()
        hand = Hand(link, await worker.next_job())
        await hand.say("Hello")
        running = (await client.get(path)).json()
        assert (running["state"], running["run_id"], running["step"]) == ("running", sent["run_id"], 1)
        assert (running["run_status"], running["last_pos"]) == ("running", 3)
        await hand.finish()
        done = (await client.get(path)).json()
        assert (done["state"], done["run_status"], done["step"], done["last_pos"]) == (
            "idle",
            "completed",
            1,
            5,
        )


async def test_deleting_a_session_stops_its_run_and_leaves_nothing() -> None:
    """C5: runs and events are gone with it."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        run_id, hand = await place.begin(client, session_id)
        await hand.say("Hello")
        assert (await client.delete(f"/api/agent-sessions/{session_id}")).status_code == 204
        assert code_of(await client.get(f"/api/runs/{run_id}")) == "run_not_found"
        assert code_of(await client.get(f"/api/runs/{run_id}/events")) == "run_not_found"
        assert (await client.get("/api/runs")).json()["items"] == []
