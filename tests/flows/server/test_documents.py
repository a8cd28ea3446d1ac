"""Documents on a whole server: added, ingested in a subprocess, found by agents, cited, deleted."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import aiohttp
import pytest
from msgspec import structs

from agio.core.passage import EmbeddingModel
from agio.core.store.jobs import NewJob
from agio.db.postgres.driver import connect
from agio.gateway.jobs.embedding import EMBEDDING
from agio.testing import Call, Reply
from tests.flows.server.home import LIMITS, PAIRS, Home, open_home
from tests.support.office import MAKERS, pdf
from tests.support.served import LinkKind

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
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("file", BytesIO(data), filename=name)
    async with home.http.post(f"{home.url}/api/collections/{to}/files", data=form) as answer:
        assert answer.status == expect, await answer.text()
        return cast("dict[str, Any]", await answer.json())


async def eventually(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so. Raises TimeoutError."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if await is_so():
                return
            await asyncio.sleep(0.02)


async def is_indexing(home: Home, document_id: str) -> bool:
    shown: dict[str, Any] = await home.ask("GET", f"/api/documents/{document_id}")
    return shown["newest"]["state"] == "indexing"


async def is_embedded(home: Home, model: EmbeddingModel) -> bool:
    return not await home.gateway.store.passages_to_embed(model.name, 0, 1)


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
    query = urlencode({"q": q, **params})
    return cast("list[dict[str, Any]]", (await home.ask("GET", f"/api/documents/search?{query}"))["items"])


async def holding(database: str | Path, word: str) -> list[str]:
    """The tables of a database that hold a word, in any column."""
    if isinstance(database, Path):
        with sqlite3.connect(f"file:{database / 'agio.db'}?mode=ro", uri=True) as connection:
            names = [
                row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")
            ]
            return [
                name
                for name in names
                if name != "passage_words"
                and any(
                    word.encode() in _bytes(each)
                    for row in connection.execute(f'select * from "{name}"')
                    for each in row
                )
            ]
    connection = await connect(database)
    try:
        names = [
            row[0]
            for row in await connection.fetch("select tablename from pg_tables where schemaname = 'public'")
        ]
        return [
            name
            for name in names
            if any(
                word.encode() in _bytes(each)
                for row in await connection.fetch(f'select * from "{name}"')
                for each in row
            )
        ]
    finally:
        await connection.close()


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


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


async def test_a_larger_library_is_searched_and_read_by_tools(home: Home) -> None:
    """L11: the best passages begin the run, and the tools search, outline and read; what a tool showed is cited too."""
    team = await collection(home)
    pages = [[f"Chapter {number}", f"It is about topic{number}. " * 20] for number in range(60)]
    document = await added(home, team, "book.epub", MAKERS["epub"](pages))
    agent = await home.create_agent(collections=[team], limits={"max_document_tokens": 500})
    session = await home.start_session(agent)
    home.model.script(
        Reply(tool_calls=[Call("search_documents", {"query": "topic33", "limit": 1})]),
        Reply(tool_calls=[Call("outline", {}), Call("outline", {"document": "book.epub"})]),
        Reply(tool_calls=[Call("read_document", {"document": document["id"], "first": 3, "last": 4})]),
        Reply("About topic33 [2], and topic2 [3]."),
    )
    answer = await say(home, session, "What is said of topic7?")
    first, *_, last = home.model.calls
    assert "topic7." in " ".join(first.texts())
    assert "topic8." not in " ".join(first.texts())
    results = " ".join(last.texts())
    assert "Chapter 59" in results
    assert "book.epub" in results
    cited = {each["number"]: each for each in answer["metadata"]["citations"]}
    assert cited[2]["heading"] == "Chapter 33"
    assert (cited[3]["page"], cited[3]["heading"]) == (3, "Chapter 2")
    home.model.script(Reply("Still [2]."))
    again = await say(home, session, "And topic33?")
    assert again["metadata"]["citations"][0]["heading"] == "Chapter 33"
    assert home.model.problems == []


async def test_a_new_version_is_published_as_a_whole_and_a_failed_one_never(home: Home) -> None:
    """L11: the same bytes change nothing; a version that cannot be read leaves the published one, and says why."""
    team = await collection(home)
    first = await added(home, team, "plan.md", b"# Plan\n\nThe wall is painted turquoise.")
    same = await upload(home, team, "plan.md", b"# Plan\n\nThe wall is painted turquoise.", expect=200)
    assert not same["is_new"]
    assert same["document"]["newest"]["id"] == first["version"]["id"]
    made = await upload(home, team, "plan.md", pdf([[], []]))
    failed = await ended(home, made["document"]["id"])
    assert (failed["newest"]["state"], failed["newest"]["error_code"]) == ("failed", "document_no_text")
    assert "OCR" in failed["newest"]["error_message"]
    assert failed["version"]["id"] == first["version"]["id"]
    assert len(await found(home, "turquoise")) == 1
    second = await added(home, team, "plan.md", b"# Plan\n\nThe wall is painted magenta.")
    assert second["version"]["number"] == 3
    assert await found(home, "turquoise") == []
    [hit] = await found(home, "magenta")
    assert hit["version_id"] == second["version"]["id"]
    assert hit["score"] > 0
    old = await home.ask("GET", f"/api/documents/{first['id']}/passages?version_id={first['version']['id']}")
    assert "turquoise" in str(old)
    one, other = await asyncio.gather(
        upload(home, team, "twice.txt", b"Written by one."),
        upload(home, team, "twice.txt", b"Written by two."),
    )
    assert one["document"]["id"] == other["document"]["id"]
    last = await ended(home, one["document"]["id"])

    async def is_the_second() -> bool:
        return (await ended(home, last["id"]))["version"]["number"] == 2

    await eventually(is_the_second)
    assert len(await found(home, "Written")) == 1


async def test_a_document_that_is_deleted_or_cancelled_while_it_is_ingested_leaves_nothing(
    database: str | Path, link: LinkKind
) -> None:
    """L11, B6: neither rows nor words in the index; what was published before a cancel stays."""
    rows = b"name;word\n" + b"".join(b"row %d;xylophonecanary\n" % number for number in range(30_000))
    async with open_home(database, link) as home:
        team = await collection(home)
        published = await added(home, team, "stays.txt", b"It says marimba.")
        for end in ("delete", "cancel"):
            made = await upload(home, team, f"{end}.csv", rows)
            document_id = made["document"]["id"]
            await eventually(partial(is_indexing, home, document_id))
            assert await found(home, "xylophonecanary") == []
            if end == "cancel":
                shown = await home.ask("POST", f"/api/documents/{document_id}/cancel")
                assert cast("dict[str, Any]", shown["newest"])["state"] == "cancelled"
            assert await found(home, "xylophonecanary") == []
            await home.ask("DELETE", f"/api/documents/{document_id}", expect=204)
        done = await added(home, team, "read.txt", b"It says xylophonecanary.")
        agent = await home.create_agent(collections=[team])
        home.model.script(Reply("Yes."))
        session = await home.start_session(agent)
        await say(home, session, "Hi")
        await home.ask("DELETE", f"/api/documents/{done['id']}", expect=204)
        assert await found(home, "xylophonecanary") == []

        async def is_gone() -> bool:
            return not await holding(database, "xylophonecanar")

        await eventually(is_gone)
        assert len(await found(home, "marimba")) == 1
        await home.ask("DELETE", f"/api/collections/{team}", expect=204)
        await home.ask("GET", f"/api/documents/{published['id']}", expect=404)
        assert await found(home, "marimba") == []


async def test_only_those_who_may_see_a_collection_find_its_documents(home: Home) -> None:
    """L11, S14: a person's own collection is found by that person's runs alone, whoever made the agent."""
    own = await collection(home, name="Mine", own=True)
    await added(home, own, "diary.txt", b"My secret is ocarina.")
    store = home.gateway.store
    agent = await home.create_agent(collections=[own])
    assert len(await found(home, "ocarina", agent_id=agent)) == 1
    await store.add_user("default", "eve", "Eve", "admin")
    assert await home.gateway.shelf.search("default", "eve", [own], "ocarina", 5) == []
    assert await store.whole_library("default", "eve", [own]) == []
    assert (await store.library("default", "eve", [own])).documents == 0
    for tenant, user in (("default", "eve"), ("other", "local")):
        assert (await store.list_collections(tenant, user)).items == []
        assert (await store.list_documents(tenant, user, None)).items == []
    await home.create_agent(collections=[])
    body = {"name": "x", "system_prompt": "x", "model_provider": "openai-chat", "model_name": "test"}
    await home.ask("POST", "/api/agents", {**body, "collections": ["col_none"]}, expect=404)


async def test_an_address_is_read_through_the_guard_alone(home: Home) -> None:
    """L11: a private address is refused as it is given, and as a sitemap or a redirect leads to it."""
    team = await collection(home)
    made = await home.ask(
        "POST", "/api/documents", {"collection_id": team, "url": "http://127.0.0.1:9/x"}, expect=202
    )
    failed = await ended(home, str(cast("dict[str, Any]", made["document"])["id"]))
    assert failed["newest"]["error_code"] == "egress_refused"
    await home.ask("POST", "/api/documents/sitemap", {"collection_id": team, "url": "ftp://x"}, expect=422)
    text = {"collection_id": team, "name": "note.md", "text": "# Note\n\nCall the plumber."}
    pasted = await home.ask("POST", "/api/documents", text, expect=202)
    await ended(home, str(cast("dict[str, Any]", pasted["document"])["id"]))
    [hit] = await found(home, "plumber")
    assert hit["heading"] == "Note"


async def test_a_sitemap_is_read_page_by_page(database: str | Path, link: LinkKind) -> None:
    """L11: each page is a document; those at private addresses fail, and say so."""
    pages: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        kind, body = "text/html", f"<h1>Page</h1><p>It is about {path.strip('/')}.</p>"
        if path == "/sitemap.xml":
            kind, body = (
                "application/xml",
                f"<urlset>{''.join(f'<url><loc>{page}</loc></url>' for page in pages)}</urlset>",
            )
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write((head + body).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    site = f"http://127.0.0.1:{port}"
    pages += [f"{site}/bassoon", "http://10.1.2.3/inside", f"{site}/cello", f"{site}/beyond"]
    async with server, open_home(database, link, egress_allow=[f"127.0.0.1:{port}"]) as home:
        team = await collection(home)
        body = {"collection_id": team, "url": f"{site}/sitemap.xml", "max_pages": 3}
        await home.ask("POST", "/api/documents/sitemap", body, expect=202)
        async with asyncio.timeout(WAIT_S):
            while True:
                listed: list[dict[str, Any]] = (await home.ask("GET", "/api/documents"))["items"]  # type: ignore[assignment]
                if len(listed) == 3 and all(each["newest"]["ended_at"] for each in listed):
                    break
                await asyncio.sleep(0.02)
        states = {each["name"]: each["newest"]["error_code"] for each in listed}
        assert states == {pages[0]: None, pages[1]: "egress_refused", pages[2]: None}
        assert [hit["name"] for hit in await found(home, "cello")] == [pages[2]]


async def test_another_embedding_model_while_documents_are_ingested(
    database: str | Path, link: LinkKind
) -> None:
    """L11: vectors of another model are not compared; the words are found all the time."""
    for model in (EmbeddingModel("openai-chat", "embed-1"), EmbeddingModel("openai-chat", "embed-2", 2)):
        async with open_home(database, link, embeddings=model) as home:
            home.model.embedding = lambda text: [float("hound" in text or "canine" in text), 0.5]
            listed = (await home.ask("GET", "/api/collections"))["items"]
            known = cast("list[dict[str, Any]]", listed)
            team = str(known[0]["id"]) if known else await collection(home)
            await added(home, team, f"{model.model}.txt", f"A hound of {model.model}.".encode())
            assert (await found(home, f"hound {model.model}"))[0]["name"] == f"{model.model}.txt"
            await home.gateway.store.arm_job(NewJob(kind=EMBEDDING, key=EMBEDDING))
            home.gateway.jobs.ring()
            await eventually(partial(is_embedded, home, model))
            assert len(await found(home, "canine")) == (1 if model.size is None else 2)


async def test_an_office_file_in_a_message_is_read_or_refused_at_once(home: Home) -> None:
    """L11: the model gets its text and its real name; one with a password is refused at the upload."""
    agent = await home.create_agent()
    session = await home.start_session(agent)
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("file", MAKERS["docx"]([["Budget", "Bassoons cost 900."]]), filename="Budget 2027.docx")
    async with home.http.post(f"{home.url}/api/files", data=form) as answer:
        file = await answer.json()
        assert answer.status == 201, file
    assert (file["name"], file["readable"]) == ("Budget 2027.docx", True)
    part = {"type": "document", "source": {"type": "file", "value": file["id"]}}
    home.model.script(Reply("900."))
    body = {"content": [part, {"type": "text", "text": "What do they cost?"}]}
    await home.ask("POST", f"/api/agent-sessions/{session}/message", body, expect=202)
    await home.model.wait_for_calls(1)
    sent = " ".join(home.model.calls[-1].texts())
    assert "Bassoons cost 900." in sent
    assert "Budget 2027.docx" in sent
    for name, data, code in (
        ("locked.xlsx", b"\xd0\xcf\x11\xe0" + bytes(600), "document_encrypted"),
        ("locked.pdf", pdf([["x"]], encrypt=True), "document_encrypted"),
        ("broken.docx", MAKERS["docx"]([["x"]])[:200], "document_unreadable"),
    ):
        async with home.http.post(f"{home.url}/api/files?name={name}", data=data) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (422, code)


async def test_a_document_that_is_too_large_is_refused(database: str | Path, link: LinkKind) -> None:
    """L11: by its size at the upload; by its time while it is read."""
    limits = structs.replace(LIMITS, document_bytes=2_000_000, document_seconds=0.05)
    async with open_home(database, link, limits=limits) as home:
        team = await collection(home)
        await upload(home, team, "line.csv", b"x" * 2_000_001, expect=413)
        made = await upload(home, team, "slow.txt", b"word " * 300_000)
        failed = await ended(home, made["document"]["id"])
        assert failed["newest"]["error_code"] == "document_timeout"
