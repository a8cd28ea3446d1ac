"""The server about itself: alive, ready, its figures, and the description of every route."""

import gc
import platform
from importlib.metadata import version
from typing import Any, cast

import httpx
import jsonschema_rs
import pytest
from fastapi.exceptions import RequestValidationError
from prometheus_client.parser import text_string_to_metric_families

from agio.gateway.doors.table import DOORS
from agio.gateway.routes.table import ROUTES
from tests.support.engine import QUICK, Hand
from tests.support.house import AGENT, House, code_of, house


async def test_a_server_is_alive_before_it_is_ready() -> None:
    """S13: without a worker it answers, and says what is missing."""
    async with house() as place, place.client(None) as client:
        assert (await client.get("/api/health")).json() == {"status": "ok"}
        waiting = await client.get("/api/ready")
        assert (waiting.status_code, code_of(waiting)) == (503, "not_ready")
        assert set(waiting.json()["error"]["details"]["missing"]) == {"worker"}
        await place.joined()
        assert (await client.get("/api/ready")).json() == {"status": "ready", "workers": 1}
        await place.store.close()
        broken = await client.get("/api/ready")
        assert set(broken.json()["error"]["details"]["missing"]) == {"store"}
        assert (await client.get("/api/health")).status_code == 200


def _figures(text: str) -> dict[str, float]:
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_the_figures_say_what_the_server_does() -> None:
    """S13: runs by state, first token, appends and the commits they share, queue and streams."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        _, hand = await place.begin(client, session_id)
        await hand.say("Hello")
        await client.post(f"/api/agent-sessions/{session_id}/message", json={"content": "More"})
        async with place.room.hub.subscribe(session_id, 0):
            answered = await client.get("/metrics")
        assert answered.headers["content-type"].startswith("text/plain")
        counters = _figures(answered.text)
        assert (counters["agio_runs running"], counters["agio_runs queued"]) == (1, 1)
        assert (counters["agio_queue_depth"], counters["agio_open_streams"], counters["agio_workers"]) == (
            1,
            1,
            1,
        )
        assert counters["agio_first_token_seconds_count"] == 1
        assert counters["agio_append_seconds_count"] == counters["agio_appends_total"] >= 1
        assert 1 <= counters["agio_commit_appends_count"] <= counters["agio_commit_appends_sum"]
        assert counters["agio_append_seconds_bucket +Inf"] == counters["agio_append_seconds_count"]
        await hand.finish()
        assert _figures((await client.get("/metrics")).text)["agio_runs_ended_total completed"] == 1


@pytest.mark.parametrize(
    ("near", "headers", "status"),
    [
        (True, {}, 200),
        (False, {}, 401),
        (True, {"x-forwarded-for": "203.0.113.5"}, 401),
        (True, {"forwarded": "for=203.0.113.5"}, 401),
        (True, {"authorization": "Bearer agio_" + "x" * 43}, 401),
        (True, {"host": "evil.example"}, 403),
        (True, {"host": "evil.example", "authorization": "Bearer x"}, 403),
    ],
)
async def test_figures_are_for_this_machine_or_a_key(
    near: bool, headers: dict[str, str], status: int
) -> None:
    """S13: neither strangers nor pages of other names read them."""
    async with house() as place:
        transport = httpx.ASGITransport(place.app, client=("127.0.0.1" if near else "203.0.113.9", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8700") as client:
            assert (await client.get("/metrics", headers=headers)).status_code == status


async def test_a_server_says_what_it_is_to_whoever_may_use_it() -> None:
    """C2, S13: version, store, workers and since when; no path, no host, nothing of other teams."""
    async with house() as place, place.client() as client, place.client(None) as nobody:
        assert code_of(await nobody.get("/api/about")) == "unauthenticated"
        told = (await client.get("/api/about")).json()
        assert (told["version"], told["python"]) == (version("agio"), platform.python_version())
        assert (told["store"], told["home"], told["workers"]) == ("sqlite", "embedded", 0)
        assert told["started_at"] > 1_700_000_000_000
        assert set(told) == {
            "version",
            "python",
            "store",
            "home",
            "workers",
            "started_at",
            "running_per_key",
            "running_per_tenant",
        }
        assert (told["running_per_key"], told["running_per_tenant"]) == (
            QUICK.running_per_key,
            QUICK.running_per_tenant,
        )
        await place.joined()
        assert (await client.get("/api/about")).json()["workers"] == 1


async def _description(place: House) -> dict[str, Any]:
    async with place.client(None) as client:
        return (await client.get("/api/openapi.json")).json()


async def test_every_route_and_stream_is_described() -> None:
    """C2: path, method, parameters, answer, refusals and who may call."""
    async with house() as place:
        described = await _description(place)
    assert described["openapi"].startswith("3.1")
    for route in ROUTES:
        operation = described["paths"][route.path][route.method.lower()]
        assert operation["operationId"] == route.name
        assert operation["summary"]
        assert str(route.status) in operation["responses"]
        in_path = {name for name in route.path.split("/") if name.startswith("{")}
        named = {f"{{{given['name']}}}" for given in operation.get("parameters", []) if given["in"] == "path"}
        assert named == in_path
        codes = " ".join(response["description"] for response in operation["responses"].values())
        assert all(f"`{code}`" in codes for code in route.codes.split())
        assert ("security" in operation) == (route.access != "public")
        assert route.access == "public" or "`unauthenticated`" in codes
    for door in DOORS:
        if not door.path.startswith("/link"):
            method = "get" if door.method == "WEBSOCKET" else door.method.lower()
            assert "401" in described["paths"][door.path][method]["responses"]
    assert set(described["components"]["securitySchemes"]) == {"apiKey", "cookie"}


async def test_the_description_refers_to_nothing_that_is_not_there() -> None:
    """C2: every reference leads somewhere, every schema is one, and none is FastAPI's own error."""
    async with house() as place:
        described = await _description(place)
    schemas = described["components"]["schemas"]
    assert set(_references(described)) <= {f"#/components/schemas/{name}" for name in schemas}
    assert "HTTPValidationError" not in schemas
    for name in schemas:
        jsonschema_rs.validator_for(
            {"$ref": f"#/components/schemas/{name}", "components": described["components"]}
        )
    for words in ("FastAPI", "Successful Response"):
        assert words not in str(described)


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        own = [reference] if isinstance(reference := entries.get("$ref"), str) else []
        return own + [name for entry in entries.values() for name in _references(entry)]
    return (
        [name for entry in cast("list[object]", value) for name in _references(entry)]
        if isinstance(value, list)
        else []
    )


async def test_answers_are_as_described() -> None:
    """C2: what the routes answer fits the schemas they promise, refusals too."""
    async with house() as place, place.client() as client:
        described = await _description(place)

        def check(response: httpx.Response, path: str) -> None:
            operation = described["paths"][path][response.request.method.lower()]
            schema = operation["responses"][str(response.status_code)]["content"]["application/json"][
                "schema"
            ]
            whole = {**schema, "components": described["components"]}
            jsonschema_rs.validator_for(whole).validate(response.json())

        made = await client.post("/api/agents", json={**AGENT, "tools": ["clock"]})
        check(made, "/api/agents")
        check(await client.get("/api/agents"), "/api/agents")
        check(await client.post("/api/agents", json={}), "/api/agents")
        started = await client.post(f"/api/agents/{made.json()['id']}/sessions")
        check(started, "/api/agents/{agent_id}/sessions")
        session = f"/api/agent-sessions/{started.json()['id']}"
        sent = await client.post(f"{session}/message", json={"content": "Hi"})
        check(sent, "/api/agent-sessions/{session_id}/message")
        worker, link = await place.joined()
        hand = Hand(link, await worker.next_job())
        await hand.ask("clock", "{}", "read")
        run = f"/api/runs/{sent.json()['run_id']}"
        check(await client.get(session), "/api/agent-sessions/{session_id}")
        for name in ("status", "interrupts"):
            check(await client.get(f"{session}/{name}"), f"/api/agent-sessions/{{session_id}}/{name}")
        check(await client.post(f"{session}/cancel"), "/api/agent-sessions/{session_id}/cancel")
        check(await client.get(run), "/api/runs/{run_id}")
        check(await client.get(f"{run}/tools"), "/api/runs/{run_id}/tools")
        for path in (
            "/api/agent-sessions",
            "/api/runs",
            "/api/me",
            "/api/api-keys",
            "/api/tools",
            "/api/health",
        ):
            check(await client.get(path), path)
        check(await client.post("/api/api-keys", json={"name": "k"}), "/api/api-keys")
        check(await client.get("/api/runs?limit=0"), "/api/runs")
        check(await client.get("/api/runs/run_none"), "/api/runs/{run_id}")


async def test_a_word_of_the_list_is_no_id() -> None:
    """C2: what has a path of its own is not taken for a parameter of another, whatever the method."""
    async with house() as place, place.client() as client:
        refused = await client.delete("/api/invitations/open?token=x")
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET")
        refused = await client.put("/api/providers/test", json={})
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        for method in ("POST", "TRACE", "OPTIONS"):
            refused = await client.request(method, "/realtime")
            assert (refused.status_code, refused.headers["allow"]) == (405, "GET")
        assert (await client.get("/realtime")).status_code == 426


async def test_the_description_says_what_a_body_needs() -> None:
    """C2: what is refused for its form does not fit the description: nothing given, nothing but blanks, demo."""
    async with house() as place:
        schemas = (await _description(place))["components"]["schemas"]
    assert {"required": ["email"], "properties": {"email": {"type": "string"}}} in schemas["AccountChange"][
        "anyOf"
    ]
    assert {"required": ["title"], "properties": {"title": {"type": "string"}}} in schemas["SessionChange"][
        "anyOf"
    ]
    assert schemas["TenantChange"]["minProperties"] == 1
    assert len(schemas["AnswerBody"]["oneOf"]) == 3
    assert len(schemas["HeaderBody"]["anyOf"]) == 2
    assert schemas["AgentBody"]["properties"]["name"]["pattern"] == r"\S"
    assert schemas["ProviderBody"]["properties"]["name"]["not"] == {"const": "demo"}


async def test_a_whole_number_may_be_written_with_a_point() -> None:
    """C2: 7.0 is an integer, as JSON schema has it; 7.5 is none."""
    async with house() as place, place.client() as client:
        made = await client.post("/api/agents", json={**AGENT, "max_steps": 7.0})
        assert made.json()["max_steps"] == 7
        refused = await client.post("/api/agents", json={**AGENT, "name": "Bea", "max_steps": 7.5})
        assert code_of(refused) == "invalid_body"


async def test_a_line_break_behind_a_path_makes_it_another() -> None:
    """S14: what a proxy keeps people from by its path is not reached by one that only looks different to it."""
    async with house() as place, place.client() as client:
        for path in ("/api/me", "/metrics", "/api/agents/x", "/"):
            assert code_of(await client.get(f"{path}%0a")) == "not_found", path


async def test_the_description_says_what_comes_of_waiting_for_a_run() -> None:
    """C2: a run that fails is a 502 or 504 with its code, and an answer that may be a stream says so."""
    async with house() as place:
        paths = (await _description(place))["paths"]
    for path in ("/api/agent/run", "/api/sdk/session/message"):
        assert {"422", "502", "504"} <= set(paths[path]["post"]["responses"])
    answer = paths["/api/sdk/session/message"]["post"]["responses"]["200"]
    assert set(answer["content"]) == {"application/json", "text/event-stream"}
    assert set(paths["/sign-in"]["get"]["responses"]["200"]["content"]) == {"text/html"}


async def test_a_refused_body_is_freed_with_its_answer() -> None:
    """S14: no error waits with its body for the garbage collector, which would pause the server for all of them."""
    body = b'{"tools": [%s1]}' % (b"1," * 4000)
    async with house() as place, place.client() as client:
        gc.collect()
        gc.disable()
        try:
            refused = await client.post(
                "/api/agents", content=body, headers={"content-type": "application/json"}
            )
            assert code_of(refused) == "invalid_body"
            assert not [kept for kept in gc.get_objects() if isinstance(kept, RequestValidationError)]
        finally:
            gc.enable()
