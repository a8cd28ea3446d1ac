"""Every field of every body, command and AG-UI input with values nobody should send: a code, and nothing half-done."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from agio.gateway.http.route import Route
from agio.gateway.routes.table import ROUTES
from agio.protocol.commands import Command
from agio.protocol.messages import Json, RunAgentInput, json_object
from tests.integration.gateway.access.calls import CALLS, Call
from tests.integration.gateway.access.hostile import LARGE, VALUES, Schema, filled, holes_of
from tests.integration.gateway.access.world import OURS, World, ag_ui_input, world
from tests.support.access import PERSON
from tests.support.engine import soon
from tests.support.house import ADDRESS, code_of

OWNER = f"{OURS}/owner"
TURNS = ("run_agent_once", "send_sdk_message")
"""Who asks for a turn waits for its end."""
GROUPS = 6
_BODIES = [route for route in ROUTES if CALLS[route.name][0].body is not None]
_PLAIN = [route for route in _BODIES if route.name not in TURNS]
_TRIED = {
    **{f"group {at}": _PLAIN[at::GROUPS] for at in range(GROUPS)},
    "turns": [route for route in _BODIES if route.name in TURNS],
}


def test_every_route_with_a_body_is_tried() -> None:
    """C2: those the description gives a JSON body, and no others."""
    assert len(_BODIES) == sum(route.method in ("POST", "PUT", "PATCH") for route in ROUTES) - len(
        {
            "cancel_session",
            "cancel_run",
            "sign_out",
            "sign_out_everywhere",
            "create_sign_in_link",
            "upload_file",
            "link_identity",
            "retry_job",
            "check_mcp_server",
            "connect_mcp_server",
            "assign_mcp_server",
            "approve_suggestion",
            "reject_suggestion",
            "approve_session_suggestions",
            "close_session",
        }
    )


@pytest.mark.parametrize("group", _TRIED)
async def test_a_hostile_value_in_a_field_gets_a_code(tmp_path: Path, group: str) -> None:
    """C2, S14: refused with a code unless the description of the route allows it; what is refused leaves no trace."""
    tried = 0
    async with world(tmp_path, furnished=[OWNER]) as place:
        owner = place.people[OWNER]
        async with place.client() as anybody:
            described: dict[str, Any] = (await anybody.get("/api/openapi.json")).json()
        key = await place.add_key(OURS, owner.user)
        async with owner.client(key) as program, await owner.browser() as person:
            await program.get("/api/me")
            before = await place.dump(OURS)
            for route in _TRIED[group]:
                call = _plain(CALLS[route.name][0]).filled(owner.ids)
                operation = described["paths"][route.path][route.method.lower()]
                schema = Schema(operation["requestBody"]["content"]["application/json"]["schema"], described)
                for field, body in schema.holes(call.body):
                    if field.startswith((".input[", ".user_input[")):
                        continue  # parts, which `content` has too
                    for name, value in VALUES.items():
                        if name == LARGE and field.startswith(".content[") and not field.endswith(".value"):
                            continue  # it is legal in a part, and the store would fill up
                        tried += 1
                        client = person if route.name in PERSON else program
                        raw = filled(body, value)
                        answered = await _sent(place, client, route, call, raw)
                        where = (route.name, field, name)
                        if answered.status_code < 300:
                            assert schema.fits(msgspec.json.decode(raw)), where
                            before = await place.dump(OURS)
                            continue
                        assert answered.status_code < 500, (*where, answered.text)
                        assert code_of(answered), where
                        assert len(answered.content) < 50_000, where
                        after = await place.dump(OURS)
                        if route.name == "send_sdk_message":
                            after["agents"] = before["agents"]  # said of its agent, not of the message
                        assert after == before, (*where, answered.text)
    assert tried > 100


def _plain(call: Call) -> Call:
    """A call that says text: a file is only once there for a message to take. The description has the other parts."""
    body = json_object(call.body)
    text = {name: "Hi" for name in ("content", "input", "user_input") if name in body}
    patient = {"timeout_s": 60} if "timeout_s" in body else {}
    return Call(path=call.path, body={**body, **text, **patient})


async def _sent(
    place: World, client: httpx.AsyncClient, route: Route, call: Call, raw: bytes
) -> httpx.Response:
    """Send a body; a turn that begins is brought to its end."""
    path = route.path.format(**call.path)
    headers = {"content-type": "application/json"}
    sending = asyncio.ensure_future(client.request(route.method, path, content=raw, headers=headers))
    if route.name in TURNS:
        taking = asyncio.ensure_future(place.hand())
        await asyncio.wait([sending, taking], return_when=asyncio.FIRST_COMPLETED)
        if taking.done():
            await taking.result().say("Done")
            await taking.result().finish()
        taking.cancel()
    return await soon(sending)


def _commands(ids: dict[str, str]) -> Iterator[tuple[str, Json]]:
    """Each command, and one with a hole for each of its fields."""
    part = {
        "type": "document",
        "id": "p",
        "metadata": {"a": 1},
        "source": {"type": "file", "value": ids["file"]},
    }
    answer = {"interrupt_id": ids["interrupt"], "approved": True, "reason": "So.", "edited_args": {"a": 1}}
    commands: list[dict[str, Json]] = [
        {
            "type": "message",
            "id": "c",
            "session_id": ids["session"],
            "content": [part],
            "client_message_id": "k",
            "on_busy": "queue",
        },
        {"type": "message", "id": "c", "agent_id": ids["agent"], "content": "Hi"},
        {"type": "subscribe", "id": "c", "session_id": ids["session"], "after": 0},
        {"type": "unsubscribe", "id": "c", "session_id": ids["session"]},
        {"type": "cancel", "id": "c", "session_id": ids["calling"]},
        {"type": "cancel", "id": "c", "run_id": ids["run"]},
        {"type": "approve", "id": "c", "session_id": ids["waiting"], "answers": [answer]},
        {"type": "ping", "id": "c"},
    ]
    for command in commands:
        yield from ((f"{command['type']}{field}", made) for field, made in holes_of(command))


async def test_a_hostile_value_in_a_command_gets_an_error(tmp_path: Path) -> None:
    """C2, S14: an error with a code, or the socket closes; a command that is none changes nothing."""
    async with world(tmp_path, furnished=[OWNER]) as place:
        owner = place.people[OWNER]
        headers = {"authorization": f"Bearer {owner.key}"}
        tried = 0
        for field, command in _commands(owner.ids):
            socket = place.talk(headers)
            await socket.command("ping")
            for name, value in VALUES.items():
                tried += 1
                raw = filled(command, value)
                legal = _decodes(raw, Command)
                before = await place.dump(OURS)
                came = len(socket.messages)
                socket.put(raw.decode())
                socket.put('{"type":"ping","id":"after"}')
                await socket.until(lambda: socket.closed or _pongs(socket.messages[came:]))  # noqa: B023
                if socket.closed is not None:
                    assert socket.closed == 1009, (field, name)
                    assert len(raw) > 2**20, (field, name)
                    socket = place.talk(headers)
                    await socket.command("ping")
                    continue
                answers = [one for one in socket.messages[came:] if one["type"] in ("ack", "error", "pong")]
                errors = [one["error"]["code"] for one in answers if one["type"] == "error"]
                assert all(errors), (field, name, errors)
                assert "internal_error" not in errors, (field, name, errors)
                if not legal:
                    assert errors, (field, name, answers)
                    assert await place.dump(OURS) == before, (field, name)
            await socket.leave()
        assert tried > 300


def _pongs(messages: list[dict[str, Any]]) -> bool:
    return any(one["type"] == "pong" and one.get("id") == "after" for one in messages)


def _decodes(raw: bytes, kind: Any) -> bool:
    try:
        msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


async def test_a_hostile_value_in_an_ag_ui_input_gets_a_code(tmp_path: Path) -> None:
    """C2, S14: what is no RunAgentInput is refused and leaves nothing; what is one begins a run, or is refused."""
    async with world(tmp_path, furnished=[OWNER]) as place:
        owner = place.people[OWNER]
        path = f"/api/agents/{owner.ids['agent']}/ag-ui"
        headers = {"authorization": f"Bearer {owner.key}", "content-type": "application/json"}
        tried = 0
        await place.read("GET", "/api/me", headers).done()
        before = await place.dump(OURS)
        for number, (field, given) in enumerate(_inputs()):
            for name, value in VALUES.items():
                tried += 1
                unlike = {"threadId": f"t-{number}-{name}", "runId": f"r-{number}-{name}"}
                whole = json_object(given)
                raw = filled({**unlike, **whole} if whole else given, value)
                stream = place.read("POST", path, {**headers, "host": ADDRESS[7:]}, body=raw)
                await stream.until(lambda: stream.status)  # noqa: B023
                where = (field, name, stream.body)
                assert stream.status < 500, where
                if stream.status == 200:
                    assert _decodes(raw, RunAgentInput), where
                    await stream.leave()
                    before = await place.dump(OURS)
                    continue
                await stream.done()
                assert stream.error, where
                after = await place.dump(OURS)
                after["agent_sessions"] = before["agent_sessions"]  # a thread is there from its first word on
                assert after == before, where
        assert tried > 300


def _inputs() -> Iterator[tuple[str, Json]]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    source = {"type": "url", "value": "https://example.com/a.png", "mimeType": "image/png"}
    user = {
        "id": "u",
        "role": "user",
        "name": "ann",
        "content": [{"type": "image", "id": "p", "source": source}],
    }
    assistant = {"id": "a", "role": "assistant", "content": "Hi", "toolCalls": [call], "metadata": {"a": 1}}
    tool = {"id": "m", "role": "tool", "toolCallId": "c1", "content": "42", "error": "no"}
    more = {
        "protocolVersion": "1.0",
        "parentRunId": "p",
        "state": {"a": 1},
        "tools": [
            {"name": "pick", "description": "Pick.", "parameters": {"type": "object"}, "metadata": {"a": 1}}
        ],
        "context": [{"description": "page", "value": "home"}],
        "forwardedProps": {"agio": {"cancel_on_disconnect": False}},
    }
    resume = {"interruptId": "i", "status": "resolved", "payload": {"approved": True}, "metadata": {"a": 1}}
    for messages, extra in (
        ([user], {}),
        ([assistant, user], {}),
        ([tool, user], {}),
        ([user], {"resume": [resume]}),
    ):
        given = ag_ui_input("t", "r", "x", **{**more, **extra, "messages": messages})
        for field, made in holes_of(given):
            kept = {name: inner for name, inner in json_object(made).items() if inner != given.get(name)}
            rest = {name: given[name] for name in given if name not in ("threadId", "runId")}
            yield field, {**rest, **kept} if kept else made
