"""Nobody sees, changes or guesses what another team or user has: every route, every place for an id."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import Any, cast

import httpx
import pytest

from agio.gateway.doors.table import DOORS
from agio.gateway.http.route import Route
from agio.gateway.routes.table import ROUTES
from tests.integration.gateway.access.calls import CALLS, Call
from tests.integration.gateway.access.world import (
    ACME,
    CANARY,
    FURNISHED,
    OURS,
    Person,
    World,
    nowhere,
    world,
)
from tests.support.access import PERSON
from tests.support.house import code_of, house

RUNS = frozenset({"run", "live_run"})
USERS_OWN = frozenset(
    {"session", "waiting", "calling", "live", "run", "live_run", "interrupt", "call", "file", "draft", "sdk"}
    | {"message_key", "run_key", "tool_key"}
)
"""The kinds of things that belong to a user and not to the team."""
MANAGERS_READ: dict[str, frozenset[str]] = dict.fromkeys(
    ("get_run", "run_definition", "run_events", "list_run_tools", "run_trace"), RUNS
)
"""What whoever manages a team may read although it is a colleague's."""
ANYBODYS = {
    "open_invitation": "an invitation is for whoever has its token",
    "accept_invitation": "an invitation is for whoever has its token",
    "finish_mcp_connect": "a state is good once, for the person who began",
    "sign_in": "a link is for whoever has its token",
    "finish_sign_in": "a state is good once, in the browser it was made for",
}
"""Routes whose parameters look like ids and are secrets."""
OWN_NAMES = {"client_message_id", "tool_call_id", "client_id"}
MADE_UP = {"create_agent": {"tool"}, "replace_agent": {"tool"}}
"""Names that a body gives: what the tool of a handoff is called."""
_ID_LIKE = re.compile(
    r"(_id|_ids)$|^(agent|agent_name|tool|tools|tenant|token|user|model_provider|results|answers)$"
)
_MADE = re.compile(r"\b[a-z]{3,4}_[0-9a-z]{26}\b")
_VARYING = re.compile(r'("(?:duration_ms|\w+_at)":)\d+|("(?:token|path)":)"[^"]+"')


def test_every_route_and_door_says_where_its_ids_go() -> None:
    """C2: a route without an entry fails here, and so does a parameter or field for an id that no entry fills."""
    assert {route.name for route in ROUTES} == set(CALLS)
    assert {(door.method, door.path) for door in DOORS} - {
        (route.method, route.path) for route in ROUTES
    } == {
        ("WEBSOCKET", "/realtime"),
        ("GET", "/api/agent-sessions/{session_id}/stream"),
        ("POST", "/api/agents/{agent_id}/ag-ui"),
        ("POST", "/mcp"),
        ("WEBSOCKET", "/link"),
        ("POST", "/link/heartbeat"),
    }


async def test_no_parameter_or_field_for_an_id_is_left_out() -> None:
    """C2: what the description of a route calls an id is filled by one of its entries."""
    async with house() as place, place.client() as client:
        described: dict[str, Any] = (await client.get("/api/openapi.json")).json()
    for route in ROUTES:
        if route.name in ANYBODYS:
            continue
        operation = described["paths"][route.path][route.method.lower()]
        wanted = {("path", name) for _, name, _, _ in Formatter().parse(route.path) if name}
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "query" and _ID_LIKE.search(parameter["name"]):
                wanted.add(("query", parameter["name"]))
        schema = (
            operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        )
        wanted |= {("body", name) for name in _fields(schema, described) if _ID_LIKE.search(name)}
        filled = {slot for call in CALLS[route.name] for slot in _filled(call)}
        own = OWN_NAMES | MADE_UP.get(route.name, set())
        assert wanted - {("body", name) for name in own} <= filled, route.name


@pytest.mark.parametrize("name", ["owner", "admin", "member"])
async def test_another_teams_things_are_not_there(tmp_path: Path, name: str) -> None:
    """C2, R2: another team's id or name is answered as one that nobody has, and nothing of theirs is changed.

    In paths, queries, headers and bodies of every route, for the owner, an admin and a member of the other team,
    although the stranger owns the operator's team.
    """
    async with world(tmp_path) as place:
        stranger, victim = place.people[f"{OURS}/owner"], place.people[f"{ACME}/{name}"]
        struck = await _strike(place, stranger, victim, None)
        assert struck > 90


@pytest.mark.parametrize("name", ["admin", "member"])
async def test_another_users_things_are_not_there(tmp_path: Path, name: str) -> None:
    """C2, R2: the same between users of a team, for what belongs to a user; who manages it may read runs."""
    async with world(tmp_path) as place:
        colleague, victim = place.people[f"{ACME}/{name}"], place.people[f"{ACME}/owner"]
        kinds = USERS_OWN | ({"key"} if name == "member" else set[str]())
        readable = {} if name == "member" else MANAGERS_READ
        struck = await _strike(place, colleague, victim, kinds, readable)
        assert struck > 40


@pytest.mark.parametrize("name", FURNISHED[-1:] + FURNISHED[1:3])
async def test_no_list_tells_a_word_of_anothers(tmp_path: Path, name: str) -> None:
    """C2, R2: what can be read with one's own ids, or with a page's cursor that another was given, is one's own.

    Of another team no word is in it; of a colleague none of their ids.
    """
    async with world(tmp_path) as place:
        reader, victim = place.people[name], place.people[f"{ACME}/owner"]
        words = {CANARY} if reader.tenant != ACME else {victim.ids[kind] for kind in USERS_OWN - {"title"}}
        seen = given = 0
        async with victim.client() as theirs, reader.client() as client:
            for route in ROUTES:
                if route.method != "GET" or route.access != "user" or route.status == 303:
                    continue
                bare = [] if route.name == "sdk_transcript" else [Call(path=CALLS[route.name][0].path)]
                for call in (*bare, *CALLS[route.name]):
                    answered = await call.filled(reader.ids).send(client, route)
                    assert answered.status_code in (200, 403, 404), (route.name, answered.text)
                    assert not [word for word in words if word in answered.text], route.name
                    seen += 1
                    mine = call.filled(victim.ids)
                    listed = await theirs.get(route.path.format(**mine.path), params={"limit": 1})
                    is_page = listed.headers["content-type"] == "application/json"
                    cursor = listed.json().get("next") if is_page else None
                    if cursor is not None:
                        given += 1
                        used = await call.filled(reader.ids).send(client, route, {"after": cursor})
                        assert used.status_code in (200, 400, 403), (route.name, used.text)
                        assert not [word for word in words if word in used.text], route.name
        assert seen > 35
        assert given >= 8, given


async def _strike(
    place: World,
    stranger: Person,
    victim: Person,
    kinds: frozenset[str] | None,
    readable: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> int:
    """Call every route with what a victim has, and with what nobody has, in one place at a time; returns how often."""
    user = victim.user if stranger.tenant == victim.tenant else None
    before = await place.dump(ACME, user)
    gone = nowhere(victim.ids)
    struck = 0
    for route, call, slot in _slots():
        if kinds is not None and slot[1] not in kinds - readable.get(route.name, frozenset()):
            continue
        struck += 1
        said: list[tuple[int, str]] = []
        for other in (victim.ids, gone):
            answered = await _sent(stranger, route, call.filled(stranger.ids, other, slot))
            _check(route, call, slot, answered)
            said.append((answered.status_code, _plain(answered.text, other[slot[1]])))
        assert said[0] == said[1], (route.name, slot)
        if user is None:
            assert CANARY not in said[0][1], (route.name, slot)
        assert await place.dump(ACME, user) == before, (route.name, slot)
    return struck


def _slots() -> list[tuple[Route, Call, tuple[str, str]]]:
    """Every place for an id; last those where another's name is good for something of one's own, or was."""
    every = [(route, call, slot) for route in ROUTES for call in CALLS[route.name] for slot in call.slots()]
    return sorted(every, key=lambda one: _turn(one[0], one[1].foreign.get(one[2][1], 404)))


def _turn(route: Route, expected: int | str) -> int:
    if isinstance(expected, str):
        return 2 if expected.endswith("_exists") else 0
    return int(expected < 300 and route.method != "GET")


async def _sent(person: Person, route: Route, call: Call) -> httpx.Response:
    async with await person.browser() if route.name in PERSON else person.client() as client:
        return await call.send(client, route)


def _check(route: Route, call: Call, slot: tuple[str, str], answered: httpx.Response) -> None:
    """See that another's thing is not found, or is what its entry says."""
    where = (route.name, slot, answered.text)
    expected = 404 if slot[0] == "path" else call.foreign.get(slot[1], 404)
    if isinstance(expected, str):
        assert code_of(answered) == expected, where
        return
    assert answered.status_code == expected, where
    if expected == 404:
        code = code_of(answered)
        assert code.endswith("_not_found") or code == "tool_not_assigned", where


def _plain(text: str, named: str) -> str:
    """An answer without what is new in each: the id or name in question, ids, times, who was first."""
    same = text.replace(named, "NAMED").replace('"status":"running"', '"status":"queued"')
    return _VARYING.sub(r"\1\2 0", _MADE.sub("ID", same))


def _fields(schema: Mapping[str, Any], described: Mapping[str, Any]) -> set[str]:
    """The names of all fields of a body, also of objects within."""
    if "$ref" in schema:
        return _fields(described["components"]["schemas"][schema["$ref"].rpartition("/")[2]], described)
    found: set[str] = set()
    for name, inner in schema.get("properties", {}).items():
        found |= {name} | _fields(inner, described)
    for key in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(key, []):
            found |= _fields(inner, described)
    if "items" in schema:
        found |= _fields(schema["items"], described)
    return found


def _filled(call: Call) -> Iterator[tuple[str, str]]:
    """The parameters and fields that have a mark in them."""
    for place in ("path", "query"):
        named = cast("Mapping[str, str]", getattr(call, place))
        yield from ((place, name) for name in named)
    yield from (("body", name) for name in _marked(call.body))


def _marked(value: object) -> set[str]:
    match value:
        case dict():
            found: set[str] = set()
            for name, inner in cast("dict[str, object]", value).items():
                if "<" in str(inner) or "<" in name:
                    found |= {name}
                found |= _marked(inner)
            return found
        case list():
            return {name for inner in cast("list[object]", value) for name in _marked(inner)}
        case _:
            return set()
