"""Names by REST: wherever one is given, it can be seen, and is no other's in disguise."""

from typing import Any

import pytest

from tests.support.house import AGENT, code_of, house

HOSTILE = ["\u200b", "\u202eadmin", "Ad\u200bmin", "a\x07", "\u3164", "\u0301", "\u2800 \u00ad"]
PLACES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("POST", "/api/agents", "name", AGENT),
    ("PUT", "/api/agents/{agent}", "name", AGENT),
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
    """C2, S14: of agents, keys, teams and people."""
    async with house() as place, place.client() as client:
        agent = (await client.post("/api/agents", json={**AGENT, "name": "Helper"})).json()["id"]
        where = path.format(agent=agent)
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


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("\u200bTrip\u200f (copy)", "Trip (copy)"),
        ("👨\u200d👩\u200d… (copy)", "👨\u200d👩… (copy)"),
        ("می\u200cشد", "می\u200cشد"),
        (" one\n\ttwo\x07\u2028three ", "one two three"),
        ("\u202e \u200b", ""),
        ("\u3164", ""),
    ],
)
async def test_a_title_keeps_what_can_be_seen_of_it(given: str, kept: str) -> None:
    """C5, S14: of new sessions, renamed ones and copies, which get theirs from messages."""
    async with house() as place, place.client() as client:
        agent = (await client.post("/api/agents", json={**AGENT, "name": "Helper"})).json()["id"]
        made = await client.post(f"/api/agents/{agent}/sessions", json={"title": given})
        assert (made.status_code, made.json()["title"]) == (201, kept)
        session = f"/api/agent-sessions/{made.json()['id']}"
        assert (await client.patch(session, json={"title": "Trip"})).json()["title"] == "Trip"
        renamed = await client.patch(session, json={"title": given})
        assert (renamed.status_code, renamed.json()["title"]) == (200, kept)
        sent = await client.post(f"{session}/message", json={"content": "hello"})
        copy = await client.post(
            f"{session}/fork", json={"before": sent.json()["message_id"], "title": given}
        )
        assert (copy.status_code, copy.json()["title"]) == (201, kept)


@pytest.mark.parametrize("name", ["a b", "\u200b", "ä", "", "\u202eb"])
async def test_tools_and_providers_have_names_of_plain_letters(name: str) -> None:
    """C3: models and addresses have them, too."""
    async with house() as place, place.client() as client:
        tool = {"name": name, "method": "GET", "url": "https://example.com/"}
        assert (await client.post("/api/agent-tools", json=tool)).status_code == 422
        provider = {"name": name, "kind": "openai", "api_key": "k"}
        assert (await client.post("/api/providers", json=provider)).status_code == 422
