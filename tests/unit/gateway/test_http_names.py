"""Names by REST: wherever one is given, it can be seen, and is no other's in disguise."""

from typing import Any

import pytest

from tests.unit.gateway.house import AGENT, code_of, house

HOSTILE = ["\u200b", "\u202eadmin", "Ad\u200bmin", "a\x07", "\u3164", "\u0301", "\u2800 \u00ad"]
PLACES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("POST", "/api/agents", "name", AGENT),
    ("PUT", "/api/agents/{agent}", "name", AGENT),
    ("POST", "/api/agents/{agent}/sessions", "title", {}),
    ("PATCH", "/api/agent-sessions/{session}", "title", {}),
    ("POST", "/api/agent-sessions/{session}/fork", "title", {"before": "msg_1"}),
    ("POST", "/api/api-keys", "name", {}),
    ("PATCH", "/api/tenant", "name", {}),
    ("POST", "/api/account", "name", {"email": "a@b.example", "password": "correct horse battery"}),
    ("PATCH", "/api/account", "name", {}),
    ("POST", "/api/invitations/accept", "name", {"token": "t"}),
    ("POST", "/api/sdk/session/create", "agent_name", {"instructions": "Be brief."}),
]


@pytest.mark.parametrize(("method", "path", "field", "body"), PLACES, ids=lambda value: str(value)[:40])
async def test_a_name_that_cannot_be_seen_is_refused_with_its_field(
    method: str, path: str, field: str, body: dict[str, Any]
) -> None:
    """C2, S14: of agents, sessions, keys, teams and people."""
    async with house() as place, place.client() as client:
        agent = (await client.post("/api/agents", json={**AGENT, "name": "Helper"})).json()["id"]
        session = (await client.post(f"/api/agents/{agent}/sessions", json={})).json()["id"]
        where = path.format(agent=agent, session=session)
        for name in HOSTILE:
            refused = await client.request(method, where, json={**body, field: name})
            assert (refused.status_code, code_of(refused)) == (422, "invalid_body"), refused.text
            [told] = refused.json()["error"]["details"]["fields"]
            assert told["path"] == field
            assert told["problem"].startswith("it must ")


async def test_blanks_around_a_name_go() -> None:
    """C2: and a title of blanks is none."""
    async with house() as place, place.client() as client:
        agent = (await client.post("/api/agents", json={**AGENT, "name": "  Ada\u3000"})).json()
        assert agent["name"] == "Ada"
        path = f"/api/agents/{agent['id']}/sessions"
        assert (await client.post(path, json={"title": " \t "})).json()["title"] == ""
        assert (await client.post(path, json={"title": " Trip "})).json()["title"] == "Trip"


@pytest.mark.parametrize("name", ["a b", "\u200b", "ä", "", "\u202eb"])
async def test_tools_and_providers_have_names_of_plain_letters(name: str) -> None:
    """C3: models and addresses have them, too."""
    async with house() as place, place.client() as client:
        tool = {"name": name, "method": "GET", "url": "https://example.com/"}
        assert (await client.post("/api/agent-tools", json=tool)).status_code == 422
        provider = {"name": name, "kind": "openai", "api_key": "k"}
        assert (await client.post("/api/providers", json=provider)).status_code == 422
