"""The log of a real server: one id from the browser's request to the model's, and a line a request."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from agio.testing import ModelServer
from tests.support.command import WAIT_S
from tests.support.process import KEY, Server, answer_of, stream

AGENT = {"name": "Ada", "system_prompt": "Be brief.", "model_provider": "openai-chat", "model_name": "m"}


def lines_of(server: Server) -> list[dict[str, Any]]:
    """Return the log: every line must be a JSON object."""
    return [json.loads(line) for line in server.errors.splitlines()]


def about(server: Server, request_id: str) -> dict[str, list[dict[str, Any]]]:
    """Return the lines of one request, by logger."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in lines_of(server):
        if line.get("request_id") == request_id:
            found.setdefault(line["logger"], []).append(line)
    return found


def talk(server: Server) -> str:
    """Make an agent, say something with an id of our own, wait for the answer; return the run's id."""
    with server.client() as client:
        if "1" in server.arguments:
            server.await_workers(client, 1)
        agent = answer_of(client.post("/api/agents", json=AGENT))["id"]
        session = answer_of(client.post(f"/api/agents/{agent}/sessions"))["id"]
        sent = client.post(
            f"/api/agent-sessions/{session}/message",
            json={"content": "Hi"},
            headers={"X-Request-Id": "from.browser-1"},
        )
        assert sent.headers["x-request-id"] == "from.browser-1"
        run_id = str(answer_of(sent)["run_id"])
        stream(client, str(session))
        assert answer_of(client.get(f"/api/runs/{run_id}"))["request_id"] == "from.browser-1"
        refused = client.get("/api/runs/run_nonsense", headers={"X-Request-Id": "a b"})
        assert refused.status_code == 404
        assert refused.headers["x-request-id"].startswith("req_")
    return run_id


def talk_over_websocket(server: Server) -> str:
    """Say something over the WebSocket, whose handshake has an id of our own; return the run's id."""
    with server.client() as client:
        agent = answer_of(client.post("/api/agents", json={**AGENT, "name": "Eve"}))["id"]
    url = server.url.replace("http", "ws") + "/realtime"
    headers = {"Authorization": f"Bearer {KEY}", "X-Request-Id": "from.socket"}
    with connect(url, additional_headers=headers, open_timeout=WAIT_S) as socket:
        assert socket.response is not None
        assert socket.response.headers["x-request-id"] == "from.socket"
        socket.send(json.dumps({"type": "ping", "id": "1"}))
        socket.recv(WAIT_S)
        socket.send(json.dumps({"type": "message", "id": "2", "agent_id": agent, "content": "Hi"}))
        ack = json.loads(socket.recv(WAIT_S))
    with server.client() as client:
        stream(client, ack["session_id"])
        assert answer_of(client.get(f"/api/runs/{ack['run_id']}"))["request_id"] == "from.socket.2"
    return ack["run_id"]


@pytest.mark.parametrize("arguments", [(), ("--workers", "1")], ids=["direct", "websocket"])
async def test_one_id_travels_from_the_browser_to_the_model(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """S13: the request's id is on the answer, in the access line, over the link, in the worker's line, at the model."""
    async with ModelServer() as model:
        environment = {"OPENAI_BASE_URL": model.base_url("openai-chat"), "OPENAI_API_KEY": "test-key"}
        with Server(tmp_path, *arguments, environment=environment) as server:
            first = await asyncio.to_thread(talk, server)
            second = await asyncio.to_thread(talk_over_websocket, server)
            server.stop()
        assert [call.headers["x-request-id"] for call in model.calls] == ["from.browser-1", "from.socket.2"]
    spoken = about(server, "from.browser-1")
    [access] = spoken["agio.access"]
    assert (access["method"], access["status"], access["run_id"]) == ("POST", 202, first)
    assert (access["tenant"], access["user"]) == ("default", "local")
    assert access["path"].startswith("/api/agent-sessions/ses_")
    assert access["path"].endswith("/message")
    assert access["ms"] > 0 < access["bytes"]
    [ended] = spoken["agio.worker"]
    assert (ended["status"], ended["run_id"], ended["tenant"]) == ("completed", first, "default")
    by_socket = about(server, "from.socket.2")
    [command] = by_socket["agio.access"]
    assert (command["command"], command["run_id"]) == ("message", second)
    assert by_socket["agio.worker"][0]["run_id"] == second
    [handshake] = about(server, "from.socket")["agio.access"]
    assert (handshake["method"], handshake["path"], handshake["status"]) == ("WEBSOCKET", "/realtime", 101)


def test_text_is_for_people_and_what_watches_us_is_not_told(tmp_path: Path) -> None:
    """S13: AGIO_LOG_FORMAT and AGIO_LOG_LEVEL choose; a path is told with nothing of the caller's in it."""
    with Server(tmp_path, environment={"AGIO_LOG_FORMAT": "text"}) as server, server.client() as client:
        client.get("/api/health")
        client.get("/api/runs/of-somebody-secret?and=query")
        client.get("/nowhere/at-all")
        server.stop()
    assert "/api/health" not in server.errors
    assert "GET /api/runs/{run_id} 404 [" in server.errors
    assert "GET - 404 [" in server.errors
    assert "secret" not in server.errors
    assert "query" not in server.errors
    with Server(tmp_path, environment={"AGIO_LOG_LEVEL": "warning"}) as server, server.client() as client:
        client.get("/api/me")
        server.stop()
    assert server.errors == ""


@pytest.mark.parametrize("variable", ["AGIO_LOG_FORMAT", "AGIO_LOG_LEVEL"])
def test_a_setting_that_cannot_be_is_refused(tmp_path: Path, variable: str) -> None:
    """S13: nothing starts with a wrong setting."""
    with Server(tmp_path, environment={variable: "loud"}, wait=False) as server:
        assert server.wait() == 1
    assert f"{variable} must be one of" in server.errors
