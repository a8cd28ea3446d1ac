"""Streams and sockets tell nobody of what another team or user has: WebSocket commands, SSE, AG-UI."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.integration.gateway.access.world import (
    ACME,
    CANARY,
    OURS,
    Person,
    World,
    ag_ui_input,
    nowhere,
    world,
)
from tests.integration.gateway.streams import Reading
from tests.support.engine import soon

STRANGERS = (f"{OURS}/owner", f"{ACME}/admin", f"{ACME}/member")
"""The owner of another team, and people of the victim's."""
_MADE = re.compile(r"\b[a-z]{3,4}_[0-9a-z]{26}(?:_\d+)*")
_VARYING = re.compile(r'"(?:timestamp|pos|id)":(?:\d+|"c\d+")')


def _plain(text: str, *named: str) -> str:
    for name in named:
        text = text.replace(name, "NAMED")
    return _VARYING.sub("", _MADE.sub("ID", text))


def _as(person: Person) -> dict[str, str]:
    return {"authorization": f"Bearer {person.key}", "content-type": "application/json"}


def _mine(place: World, name: str) -> tuple[Person, Person, str | None]:
    """The stranger, the victim, and whose rows must stay: the whole team's, or a colleague's."""
    stranger, victim = place.people[name], place.people[f"{ACME}/owner"]
    return stranger, victim, victim.user if stranger.tenant == ACME else None


def _commands(
    own: dict[str, str], other: dict[str, str], *, team: bool
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Commands with another's id in one place, and the code they get; None: they are carried out for nobody."""
    file = [{"type": "image", "source": {"type": "file", "value": other["file"]}}]
    answers = [{"interrupt_id": other["interrupt"], "approved": True}]
    yield "message", {"session_id": other["session"], "content": "Hi"}, "session_not_found"
    yield "message", {"session_id": other["live"], "content": "Hi"}, "session_not_found"
    yield "message", {"session_id": own["session"], "content": file}, "file_not_found"
    keyed = {"session_id": own["session"], "content": "Hi", "client_message_id": other["message_key"]}
    yield "message", keyed, None
    if team:
        yield "message", {"agent_id": other["agent"], "content": "Hi"}, "agent_not_found"
    for after in ({}, {"after": 0}, {"after": 3}):
        yield "subscribe", {"session_id": other["live"], **after}, "session_not_found"
    yield "unsubscribe", {"session_id": other["live"]}, None
    yield "cancel", {"session_id": other["live"]}, "session_not_found"
    yield "cancel", {"run_id": other["live_run"]}, "run_not_found"
    yield "approve", {"session_id": other["waiting"], "answers": answers}, "session_not_found"
    yield "approve", {"session_id": own["waiting"], "answers": answers}, "unknown_interrupt"


@pytest.mark.parametrize("name", STRANGERS)
async def test_a_socket_has_nothing_of_anothers(tmp_path: Path, name: str) -> None:
    """C2, R2: each command with another's id is answered as with one nobody has, and no event of theirs comes."""
    async with world(tmp_path) as place:
        stranger, victim, user = _mine(place, name)
        before = await place.dump(ACME, user)
        gone = nowhere(victim.ids)
        socket = place.talk(_as(stranger))
        said: list[list[str]] = [[], []]
        for at, other in enumerate((victim.ids, gone)):
            for kind, fields, code in _commands(stranger.ids, other, team=user is None):
                answered = await socket.command(kind, **fields)
                assert answered.get("error", {}).get("code") == code, (kind, fields, answered)
                said[at].append(_plain(answered["text"], *(other[kind] for kind in other if kind != "user")))
            assert await place.dump(ACME, user) == before
        assert said[0] == said[1]
        await place.live[victim.user].say("told to nobody else")
        await socket.command("ping")
        assert "told to nobody else" not in str(socket.messages)
        assert user is not None or CANARY not in "".join(map("".join, said))
        await socket.leave()


@pytest.mark.parametrize("name", STRANGERS)
async def test_a_stream_of_anothers_session_is_not_there(tmp_path: Path, name: str) -> None:
    """C2, R2: 404 with and without a cursor, as for a session nobody has; a cursor of theirs is a number like any."""
    async with world(tmp_path) as place:
        stranger, victim, _ = _mine(place, name)
        gone = nowhere(victim.ids)
        for kind in ("session", "live", "waiting"):
            said: list[tuple[int, str]] = []
            for session_id in (victim.ids[kind], gone[kind]):
                path = f"/api/agent-sessions/{session_id}/stream"
                for headers, query in (({}, ""), ({"last-event-id": "1"}, ""), ({}, "after=0")):
                    stream = place.read("GET", path, {**_as(stranger), **headers}, query=query)
                    await stream.done()
                    assert (stream.status, stream.error) == (404, "session_not_found")
                    said.append((stream.status, _plain(stream.body.decode(), session_id)))
            assert said[:3] == said[3:]
        far = (await place.store.get_session(ACME, victim.user, victim.ids["session"])).last_pos + 1000
        for headers, query in (({"last-event-id": str(far)}, ""), ({}, f"after={far}")):
            path = f"/api/agent-sessions/{stranger.ids['session']}/stream"
            stream = place.read("GET", path, {**_as(stranger), **headers}, query=query)
            await stream.done()
            assert stream.error == "invalid_cursor"
        for cursor in (victim.ids["run"], victim.ids["session"]):
            stream = place.read("GET", path, {**_as(stranger), "last-event-id": cursor})
            await stream.done()
            assert stream.error == "invalid_cursor"


def _post(place: World, person: Person, agent: str, given: dict[str, object], **headers: str) -> Reading:
    body = msgspec.json.encode(given)
    return place.read("POST", f"/api/agents/{agent}/ag-ui", {**_as(person), **headers}, body=body)


@pytest.mark.parametrize("name", STRANGERS)
async def test_a_thread_or_run_of_anothers_is_a_new_one(tmp_path: Path, name: str) -> None:
    """C2, R2: threadId and runId are names of one's own; another's lead to a new thread, without a word of theirs."""
    async with world(tmp_path) as place:
        stranger, victim, user = _mine(place, name)
        before = await place.dump(ACME, user)
        gone = nowhere(victim.ids)
        for kinds in (("session", "run"), ("live", "live_run"), ("thread", "thread_run"), ("sdk", "run")):
            said: list[str] = []
            for other in (victim.ids, gone):
                thread, run = other[kinds[0]], other[kinds[1]]
                stream = _post(place, stranger, stranger.ids["agent"], ag_ui_input(thread, run, "plain"))
                hand = await place.hand()
                await hand.say("plain answer")
                await hand.finish()
                await stream.done()
                assert stream.status == 200, stream.body
                assert stream.headers["agio-session-id"] not in victim.ids.values()
                said.append(_plain(stream.body.decode(), thread, run, hand.run_id))
            assert said[0] == said[1], kinds
            assert user is not None or CANARY not in said[0]
            assert await place.dump(ACME, user) == before


@pytest.mark.parametrize("name", STRANGERS)
async def test_an_ag_ui_client_can_answer_for_nobody_else(tmp_path: Path, name: str) -> None:
    """C2, R2: another's agent, question, call, file and cursor, each as if nobody had them."""
    async with world(tmp_path) as place:
        stranger, victim, user = _mine(place, name)
        own, before = stranger.ids, await place.dump(ACME, user)
        said: list[list[tuple[int, str]]] = [[], []]
        for at, other in enumerate((victim.ids, nowhere(victim.ids))):
            resume = [
                {"interruptId": other["interrupt"], "status": "resolved", "payload": {"approved": True}}
            ]
            result = {"id": f"msg-{at}", "role": "tool", "toolCallId": other["call"], "content": "42"}
            file = {"type": "document", "source": {"type": "file", "value": other["file"]}}
            asked = {"id": f"msg-f{at}", "role": "user", "content": [file]}
            wrong: list[tuple[str, dict[str, object], dict[str, str], str]] = [
                (
                    own["agent"],
                    ag_ui_input(own["waiting"], f"r1-{at}", "x", messages=[], resume=resume),
                    {},
                    "",
                ),
                (own["agent"], ag_ui_input(own["calling"], f"r2-{at}", "x", messages=[result]), {}, ""),
                (own["agent"], ag_ui_input(f"t3-{at}", f"r3-{at}", "x", messages=[asked]), {}, ""),
                (own["agent"], ag_ui_input(own["session"], other["run"], "x"), {"last-event-id": "1"}, ""),
                (own["agent"], ag_ui_input(other["session"], other["run"], "x"), {"last-event-id": "1"}, ""),
            ]
            if user is None:
                wrong.append(
                    (other["agent"], ag_ui_input(f"t4-{at}", f"r4-{at}", "x"), {}, "agent_not_found")
                )
            for agent, given, headers, code in wrong:
                stream = _post(place, stranger, agent, given, **headers)
                await soon(stream.done())
                assert 400 <= stream.status < 500, (given, stream.body)
                assert code in ("", stream.error)
                said[at].append((stream.status, _plain(stream.body.decode(), *other.values())))
            assert await place.dump(ACME, user) == before
        assert said[0] == said[1]
