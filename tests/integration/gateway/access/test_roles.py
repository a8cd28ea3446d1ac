"""Who may call what: every route and door without a good credential, with every role, and with lesser keys."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from agio.core.identity.principal import EVERYTHING, PERMISSIONS, Permission, Role, WebSession
from agio.gateway.auth.authenticator import COOKIE, hash_secret
from agio.gateway.doors.table import DOORS
from agio.gateway.http.route import Route
from agio.gateway.routes.table import ROUTES
from agio.protocol.ids import new_id
from tests.integration.gateway.access.calls import CALLS, Call
from tests.integration.gateway.access.world import OURS, ROLES, World, nowhere, world
from tests.support.access import PERSON, WORKERS
from tests.support.house import ADDRESS, code_of

OWNER = f"{OURS}/owner"
STREAMS = [door for door in DOORS if door.path not in WORKERS]
_ELSEWHERE = {"link_identity", "unlink_identity"}
"""About providers of which none is set up here: that is found first."""
_SECRET = "x" * 43


async def _ask(place: World, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str, bool]:
    """Ask without a body to be read; returns the status, the code, and whether something was read all the same."""
    kind = "websocket" if method == "WEBSOCKET" else "http"
    given = {"host": ADDRESS.removeprefix("http://"), **headers}
    scope: dict[str, Any] = {
        "type": kind,
        "method": "GET" if kind == "websocket" else method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 8700),
        "client": ("203.0.113.9", 5000),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "extensions": {"websocket.http.response": {}},
    }
    sent: list[Any] = []
    read = False

    async def receive() -> dict[str, Any]:
        nonlocal read
        read = True
        return {"type": "http.disconnect"} if kind == "http" else {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await place.app(scope, receive, send)
    status = next((message["status"] for message in sent if "status" in message), 0)
    body = b"".join(message.get("body", b"") for message in sent)
    return status, msgspec.json.decode(body)["error"]["code"] if body else "", read


def _places() -> list[tuple[str, str]]:
    """Every route and door that serves somebody, with ids nobody has."""
    routes = [(route.method, route.path) for route in ROUTES if route.access != "public"]
    every = dict.fromkeys([*routes, *((door.method, door.path) for door in STREAMS)])
    return [(method, _path(path)) for method, path in every]


def _path(path: str) -> str:
    for name in (
        "session_id",
        "agent_id",
        "run_id",
        "file_id",
        "provider_id",
        "tool_id",
        "draft_id",
        "key_id",
    ):
        path = path.replace(f"{{{name}}}", "x_01k9")
    for name in ("user", "name", "invitation_id", "provider"):
        path = path.replace(f"{{{name}}}", "x_01k9")
    return path.replace("{version}", "1")


async def _dead_credentials(place: World) -> dict[str, dict[str, str]]:
    """What is no credential, or none any more."""
    owner, spare = place.people[OWNER], place.people[f"{OURS}/spare"]
    async with owner.client() as client:
        made = (await client.post("/api/api-keys", json={"name": "short-lived"})).json()
        async with owner.client(made["key"]) as revoked:
            assert (await revoked.get("/api/me")).status_code == 200
        assert (await client.delete(f"/api/api-keys/{made['id']}")).status_code == 204
    cookie, over, signed_out = await spare.cookie(), "c" * 43, await owner.browser()
    async with (
        spare.client() as theirs,
        place.client({"cookie": cookie}) as browser,
        owner.client() as client,
    ):
        assert (await theirs.get("/api/me")).status_code == 200
        assert (await browser.get("/api/me")).status_code == 200
        assert (await client.delete(f"/api/members/{spare.user}")).status_code == 204
    async with signed_out:
        assert (await signed_out.get("/api/me")).status_code == 200
        assert (await signed_out.post("/sign-out")).status_code == 204
    past = WebSession(
        id=new_id("web"),
        tenant=OURS,
        user=owner.user,
        token_hash=hash_secret(over),
        authenticated_at=1,
        expires_at=2,
    )
    await place.store.add_web_session(past)
    expired = await place.add_key(OURS, owner.user, expires_in_ms=-1)
    keys = {
        "a guessed key": f"agio_{_SECRET}",
        "an empty key": "",
        "a revoked key": made["key"],
        "an expired key": expired,
        "a removed member's key": spare.key,
        "a cookie's secret as a key": cookie.partition("=")[2],
    }
    cookies = {
        "a guessed cookie": f"{COOKIE}={_SECRET}",
        "a removed member's cookie": cookie,
        "the cookie of who signed out": signed_out.headers["cookie"],
        "a cookie that is over": f"{COOKIE}={over}",
        "a key as a cookie": f"{COOKIE}={owner.key}",
    }
    return {
        "nothing": {},
        "another scheme": {"authorization": f"Basic {owner.key}"},
        **{name: {"authorization": f"Bearer {key}"} for name, key in keys.items()},
        **{name: {"cookie": cookie, "origin": ADDRESS} for name, cookie in cookies.items()},
    }


async def test_nothing_is_open_without_a_good_credential(tmp_path: Path) -> None:
    """R2: 401 on every route, stream and socket, before a byte of the body is read, whatever is wrong with it."""
    async with world(tmp_path, furnished=()) as place:
        shown = await _dead_credentials(place)
        assert len(shown) == 13
        async with place.people[OWNER].client() as client:
            assert (await client.get("/api/me")).status_code == 200  # and is remembered, for some seconds
        for method, path in _places():
            for name, headers in shown.items():
                status, code, read = await _ask(place, method, path, headers)
                assert (status, code) == (401, "unauthenticated"), (method, path, name)
                assert not read, (method, path, name)


async def test_what_let_workers_in_is_no_key_of_a_user(tmp_path: Path) -> None:
    """R7: nobody opens the link, or is heard as a worker, with anything that lets people and programs in."""
    async with world(tmp_path, furnished=()) as place:
        owner = place.people[OWNER]
        good = {"authorization": f"Bearer {owner.key}"}
        for headers in (*(await _dead_credentials(place)).values(), good, {"cookie": await owner.cookie()}):
            status, _, read = await _ask(place, "POST", "/link/heartbeat", headers)
            assert (status, read) == (401, False), headers
            socket = place.talk(headers, "/link")
            await socket.done()
            assert [message["type"] for message in socket.sent] == ["websocket.close"]


async def test_a_cookie_changes_nothing_from_another_page(tmp_path: Path) -> None:
    """R2: with a cookie, what changes something needs our own Origin: 403 before the body is read; reading does not."""
    async with world(tmp_path, furnished=()) as place:
        cookie = await place.people[OWNER].cookie(-1)
        for headers in (
            {},
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site"},
        ):
            for method, path in _places():
                if method == "GET":
                    continue
                status, code, read = await _ask(place, method, path, {"cookie": cookie, **headers})
                assert (status, code) == (403, "forbidden_origin"), (method, path, headers)
                assert not read, (method, path)
        async with place.client({"cookie": cookie}) as client:
            assert (await client.get("/api/me")).status_code == 200


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_may_do_what_its_permissions_say(tmp_path: Path, role: Role) -> None:
    """R2: with every role, in a browser and with a key, a route is forbidden exactly if its permission is missing."""
    async with world(tmp_path, furnished=[OWNER]) as place:
        person, ids = place.people[f"{OURS}/{role}"], await _ids(place)
        for route, call in _calls():
            may = _needed(route, call) <= PERMISSIONS[role]
            async with person.client() as client:
                answered = await call.filled(ids).send(client, route)
            _check(route, answered, may=may and route.name not in PERSON, loose=route.name in _ELSEWHERE)
            if route.name in PERSON or not may:
                async with await person.browser() as client:
                    answered = await call.filled(ids).send(client, route)
                _check(route, answered, may=may)


@pytest.mark.parametrize("permission", sorted(EVERYTHING))
async def test_a_key_may_do_what_it_was_made_for(tmp_path: Path, permission: Permission) -> None:
    """R2: an owner's key with one permission is forbidden exactly what needs another, on routes and doors."""
    async with world(tmp_path, furnished=[OWNER]) as place:
        owner, ids = place.people[OWNER], await _ids(place)
        key = await place.add_key(OURS, owner.user, permissions=frozenset({permission}))
        async with owner.client(key) as client:
            for route, call in _calls():
                may = set(_needed(route, call)) == {permission} and route.name not in PERSON
                loose = route.name in _ELSEWHERE and permission == "use"
                _check(route, await call.filled(ids).send(client, route), may=may, loose=loose)
        for door in STREAMS:
            path = _path(door.path)
            status, code, read = await _ask(place, door.method, path, {"authorization": f"Bearer {key}"})
            if permission == "use":
                assert (status, code) != (403, "forbidden"), path
            else:
                assert (status, code, read) == (403, "forbidden", False), path


async def test_a_key_can_do_no_more_than_its_user(tmp_path: Path) -> None:
    """R2: a key keeps its permissions only for as long as its user's role has them."""
    async with world(tmp_path, furnished=()) as place:
        owner, admin = place.people[OWNER], place.people[f"{OURS}/admin"]
        greedy = await place.add_key(OURS, admin.user, permissions=EVERYTHING)
        async with admin.client(greedy) as client, owner.client() as boss:
            assert (await client.get("/api/members")).status_code == 200
            assert code_of(await client.get("/api/audit")) == "forbidden"
            changed = await boss.patch(f"/api/members/{admin.user}", json={"role": "member"})
            assert changed.status_code == 200
            assert code_of(await client.get("/api/members")) == "forbidden"
            assert code_of(await client.post("/api/agents", json={})) == "forbidden"
            assert (await client.get("/api/agents")).status_code == 200
            more = await client.post("/api/api-keys", json={"name": "k", "permissions": ["manage"]})
            assert code_of(more) == "forbidden"


@pytest.mark.parametrize(
    "by", ["an admin's key", "an admin's browser", "an owner's key that may only manage"]
)
async def test_who_is_no_owner_may_not_touch_owners(tmp_path: Path, by: str) -> None:
    """R2: owners are made, changed, invited and removed by owners, and their keys revoked by owners."""
    async with world(tmp_path, furnished=[OWNER]) as place:
        owner, admin = place.people[OWNER], place.people[f"{OURS}/admin"]
        limited = await place.add_key(OURS, owner.user, permissions=frozenset({"use", "manage"}))
        second = await place.add(OURS, "owner", "second")
        clients = {
            "an admin's key": admin.client(),
            "an admin's browser": await admin.browser(),
            "an owner's key that may only manage": owner.client(limited),
        }
        spare = place.people[f"{OURS}/spare"]
        (theirs,) = await place.store.list_api_keys(OURS, second.user)
        before = await place.dump(OURS)
        async with clients[by] as client:
            for method, path, body in (
                ("PATCH", f"/api/members/{second.user}", {"role": "member"}),
                ("PATCH", f"/api/members/{second.user}", {"role": "owner"}),
                ("DELETE", f"/api/members/{second.user}", None),
                ("PATCH", f"/api/members/{spare.user}", {"role": "owner"}),
                ("PATCH", f"/api/members/{admin.user}", {"role": "owner"}),
                ("POST", "/api/invitations", {"role": "owner"}),
                ("DELETE", f"/api/api-keys/{theirs.id}", None),
                ("GET", "/api/audit", None),
            ):
                refused = await client.request(method, path, json=body)
                assert (refused.status_code, code_of(refused)) == (403, "forbidden"), (method, path, body)
        kept = await place.dump(OURS)
        for table in ("users", "memberships", "invitations", "audit_log"):
            assert kept[table] == before[table], table
        assert not (await place.store.list_api_keys(OURS, second.user))[0].revoked_at


async def test_sensitive_changes_ask_a_browser_for_a_new_proof(tmp_path: Path) -> None:
    """R2: `reauthentication_required` exactly on the routes that say so, for a person who signed in an hour ago."""
    async with world(tmp_path, furnished=[OWNER]) as place:
        owner, ids = place.people[OWNER], await _ids(place)
        asked: set[str] = set()
        for route, call in _calls():
            async with await owner.browser(signed_in_s_ago=3600) as client:
                answered = await call.filled(ids).send(client, route)
            if answered.status_code == 403 and code_of(answered) == "reauthentication_required":
                asked.add(route.name)
        assert asked == {route.name for route in ROUTES if route.fresh}


def _calls() -> list[tuple[Route, Call]]:
    return [(route, call) for route in ROUTES if route.access == "user" for call in CALLS[route.name]]


def _needed(route: Route, call: Call) -> frozenset[Permission]:
    everybodys = call.query.get("all") == "true" or (route.name == "list_runs" and "user" in call.query)
    return frozenset({route.needs, "manage"} if everybodys else {route.needs})


async def _ids(place: World) -> dict[str, str]:
    """What the owner has; what is changed or ended is another's, and nobody waits for an answer."""
    owner, spare = place.people[OWNER], place.people[f"{OURS}/spare"]
    (key,) = await place.store.list_api_keys(OURS, spare.user)
    return {**owner.ids, "user": spare.user, "key": key.id, "sdk": nowhere(owner.ids)["sdk"]}


def _check(route: Route, answered: httpx.Response, *, may: bool, loose: bool = False) -> None:
    forbidden = answered.status_code == 403 and code_of(answered) == "forbidden"
    assert loose or forbidden is not may, (route.name, answered.status_code, answered.text)
    assert answered.status_code < 500, (route.name, answered.text)
