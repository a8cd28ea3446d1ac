"""`--app`: agents and tools of a Python module beside the stored ones."""

from pathlib import Path
from typing import cast

import httpx
import pytest

from tests.support.process import Server, answer_of, send, start_session, stream, text_of

SHOP = '''
from agio import Agent, tool

@tool(effect="read")
def stock(flower: str) -> str:
    """Say how many are left."""
    return f"{COUNT} {flower}"

COUNT = 12
florist = Agent("florist", "You sell flowers.", tools=[stock])
'''


def agent_named(client: httpx.Client, name: str) -> dict[str, object]:
    agents = cast("list[dict[str, object]]", answer_of(client.get("/api/agents"))["items"])
    return next(agent for agent in agents if agent["name"] == name)


@pytest.mark.parametrize("workers", [(), ("--workers", "1")])
def test_an_agent_of_a_module_is_listed_read_only_and_runs_its_tool(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    """C2, R5: the tool runs in the worker, and stored agents may use it too."""
    (tmp_path / "shop.py").write_text(SHOP)
    with Server(tmp_path, "--app", str(tmp_path / "shop.py"), *workers) as server, server.client() as client:
        server.await_workers(client, 1)
        florist = agent_named(client, "florist")
        assert (florist["source"], florist["read_only"]) == ("code", True)
        assert client.delete(f"/api/agents/{florist['id']}").status_code == 409
        session = start_session(client, "florist")
        send(client, session, "stock tulips")
        assert "12 tulips" in text_of(stream(client, session))
        clerk = {"name": "clerk", "system_prompt": "Help.", "model_provider": "demo", "model_name": "demo"}
        assert client.post("/api/agents", json={**clerk, "tools": ["stock"]}).status_code == 201
        session = start_session(client, "clerk")
        send(client, session, "stock roses")
        assert "12 roses" in text_of(stream(client, session))


def test_an_agent_that_is_gone_from_the_module_is_inactive(tmp_path: Path) -> None:
    """C2: its sessions stay readable, and nothing new is begun with it."""
    module = tmp_path / "shop.py"
    module.write_text(SHOP)
    with Server(tmp_path, "--app", str(module)) as server, server.client() as client:
        session = start_session(client, "florist")
        send(client, session, "stock tulips")
        before = stream(client, session)
        assert server.stop() == 0
    module.write_text(SHOP.replace("florist", "gardener"))
    with Server(tmp_path, "--app", str(module)) as server, server.client() as client:
        florist = agent_named(client, "florist")
        assert florist["status"] == "inactive"
        assert client.post(f"/api/agents/{florist['id']}/sessions", json={}).status_code == 409
        assert stream(client, session) == before


def test_a_change_of_the_module_begins_the_server_again(tmp_path: Path) -> None:
    """L15: `--reload` is for developing: save the file and go on."""
    module = tmp_path / "shop.py"
    module.write_text(SHOP)
    with Server(tmp_path, "--reload", "--app", str(module)) as server:
        with server.client() as client:
            session = start_session(client, "florist")
            send(client, session, "stock tulips")
            assert "12 tulips" in text_of(stream(client, session))
        module.write_text(SHOP.replace("COUNT = 12", "COUNT = 99"))
        server.await_ready_again()
        with server.client() as client:
            known = cast(int, answer_of(client.get(f"/api/agent-sessions/{session}"))["last_pos"])
            send(client, session, "stock tulips")
            assert "99 tulips" in text_of(stream(client, session, after=known))
        assert server.stop() == 0
