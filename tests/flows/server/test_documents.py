"""Documents on a whole server: added, ingested in a subprocess, found by agents, cited, deleted."""

import asyncio
from typing import Any, cast

import aiohttp
import pytest

from agio.testing import Reply
from tests.flows.server.home import PAIRS, Home

HANDBOOK = """# Handbook

## Holidays

Everybody has 31 days of holiday a year. Ask Quentin in the office.

## Refunds

A refund above 500 francs needs a signature of the treasurer.
"""
WAIT_S = 30.0
pytestmark = pytest.mark.parametrize("place", PAIRS, ids="-".join, indirect=True)


async def collection(home: Home, **fields: object) -> str:
    made = await home.ask("POST", "/api/collections", {"name": "Team", **fields}, expect=201)
    return str(made["id"])


async def upload(home: Home, to: str, name: str, data: bytes, *, expect: int = 202) -> dict[str, Any]:
    form = aiohttp.FormData()
    form.add_field("file", data, filename=name)
    async with home.http.post(f"{home.url}/api/collections/{to}/files", data=form) as answer:
        assert answer.status == expect, await answer.text()
        return cast("dict[str, Any]", await answer.json())


async def ended(home: Home, document_id: str) -> dict[str, Any]:
    """Wait until the newest version of a document has ended; returns the document."""
    async with asyncio.timeout(WAIT_S):
        while True:
            shown: dict[str, Any] = await home.ask("GET", f"/api/documents/{document_id}")
            if shown["newest"]["ended_at"] is not None:
                return shown
            await asyncio.sleep(0.02)


async def added(home: Home, to: str, name: str, data: bytes) -> dict[str, Any]:
    """Upload a document and wait until it is published."""
    made = await upload(home, to, name, data)
    shown = await ended(home, made["document"]["id"])
    assert shown["newest"]["state"] == "published", shown["newest"]
    return shown


async def found(home: Home, q: str, **params: str) -> list[dict[str, Any]]:
    query = "&".join(f"{name}={value}" for name, value in {"q": q, **params}.items())
    return cast("list[dict[str, Any]]", (await home.ask("GET", f"/api/documents/search?{query}"))["items"])


async def say(home: Home, session: str, text: str) -> dict[str, Any]:
    """Send a message, wait for the end of its run and return the newest answer."""
    agent = (await home.ask("GET", f"/api/agent-sessions/{session}"))["agent_id"]
    body = {"agent": agent, "session_id": session, "input": text}
    await home.ask("POST", "/api/agent/run", body)
    shown: dict[str, Any] = await home.ask("GET", f"/api/agent-sessions/{session}")
    return cast(
        "dict[str, Any]", [each for each in shown["messages"] if each["role"] == "assistant"][-1]["message"]
    )


async def test_an_agent_knows_the_documents_of_its_collections_and_cites_them(home: Home) -> None:
    """L11: a small document is in the prompt as a whole; `[n]` becomes a citation with its span."""
    team = await collection(home)
    document = await added(home, team, "handbook.md", HANDBOOK.encode())
    agent = await home.create_agent(collections=[team])
    session = await home.start_session(agent)
    home.model.script(Reply("31 days [2]. Nothing else [9]."))
    answer = await say(home, session, "How many days of holiday do I have?")
    texts = " ".join(home.model.calls[-1].texts())
    assert "[2] Holidays" in texts
    assert "signature of the treasurer" in texts
    assert "handbook.md" in texts
    [cited] = answer["metadata"]["citations"]
    passages = (await home.ask("GET", f"/api/documents/{document['id']}/passages"))["items"]
    [passage] = [each for each in cast("list[dict[str, Any]]", passages) if "31 days" in each["text"]]
    assert (cited["number"], cited["versionId"]) == (2, document["version"]["id"])
    assert (cited["start"], cited["end"]) == (passage["start"], passage["end"])
    assert cited["heading"] == "Handbook > Holidays"
    assert home.model.problems == []
