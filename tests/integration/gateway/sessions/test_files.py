"""Files over HTTP: uploads of every kind and lie, downloads that nobody runs, and whose they are."""

import asyncio
import os
import tempfile
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from msgspec import structs

from agio.core.config import ServerLimits
from agio.core.file import FileQuota
from agio.db.records import now_ms
from tests.support.engine import QUICK, soon
from tests.support.house import House, code_of, house
from tests.support.served import served

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30
ROOMY = structs.replace(QUICK, files_per_minute=10_000, requests_per_minute=10_000)
SMALL = structs.replace(ROOMY, file_bytes=100_000)


async def _upload(client: httpx.AsyncClient, data: bytes, **form: str) -> httpx.Response:
    return await client.post("/api/files", files={"file": ("x", data)}, data=form)


def _spools() -> int:
    """How many unnamed temporary files this process has open."""
    count = 0
    for entry in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            count += os.readlink(f"/proc/self/fd/{entry}").startswith(f"{tempfile.gettempdir()}/#")
    return count


async def test_an_upload_comes_back_as_an_attachment() -> None:
    """C9: as a form or as the body itself; named by the server, and nothing a browser would run."""
    async with house(ROOMY) as place, place.client() as client:
        for sent in (
            await client.post("/api/files", files={"file": ("", PNG)}),
            await client.post("/api/files", content=PNG, headers={"content-type": "text/html"}),
            await client.post("/api/files", content=PNG),
        ):
            assert sent.status_code == 201, sent.text
            seen = sent.json()
            assert seen.pop("readable")
            assert set(seen) == {"id", "name", "media_type", "size", "created_at"}
            assert seen["media_type"] == "image/png"
            assert seen["name"] == f"{seen['id']}.png"
            assert seen["size"] == len(PNG)
            assert (await client.get(f"/api/files/{seen['id']}")).json() == seen
            content = await client.get(f"/api/files/{seen['id']}/content")
            assert content.content == PNG
            assert content.headers["content-type"] == "image/png"
            assert content.headers["content-disposition"] == f"attachment; filename*=UTF-8''{seen['name']}"
            assert content.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in content.headers["content-security-policy"]
            assert content.headers["cache-control"] == "private, no-store"
            assert (await client.delete(f"/api/files/{seen['id']}")).status_code == 204
            assert code_of(await client.get(f"/api/files/{seen['id']}")) == "file_not_found"
            assert code_of(await client.get(f"/api/files/{seen['id']}/content")) == "file_not_found"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"<html><script>alert(1)</script></html>", "text/plain"),
        (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="x()"/>', "text/plain"),
        (b"#!/bin/sh\nrm -rf /", "text/plain"),
        ("Zoë, čaj, 茶".encode(), "text/plain"),
        ("Zoë".encode("latin-1"), "application/octet-stream"),
        (b"text with a \0 null", "application/octet-stream"),
        ("é".encode()[:1], "application/octet-stream"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 20, "image/jpeg"),
        (b"GIF89a" + b"\0" * 20, "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 " + b"\0" * 20, "image/webp"),
        (b"%PDF-1.7\n%\xff\xff", "application/pdf"),
        (b"MZ" + os.urandom(200), "application/octet-stream"),
        (b"PK\x03\x04" + b"\0" * 100, "application/zip"),
    ],
)
async def test_the_type_is_what_the_bytes_are(data: bytes, kind: str) -> None:
    """S14: neither the declared type nor the name counts; markup is text."""
    async with house(ROOMY) as place, place.client() as client:
        lie = {"file": ("photo.png", data, "image/png")}
        sent = await client.post("/api/files", files=lie)
        assert sent.json()["media_type"] == kind, sent.text
        content = await client.get(f"/api/files/{sent.json()['id']}/content")
        assert content.headers["content-type"].partition(";")[0] == kind
        assert content.content == data


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\x", "x"),
        ("a\u2028b.txt", "a b.txt"),
        ("x" * 3000, "x" * 255),
        ("Q3 Ergebnis.txt", "Q3 Ergebnis.txt"),
        ("/", None),
        ("..", None),
    ],
)
async def test_a_file_keeps_the_last_part_of_its_name(name: str, kept: str | None) -> None:
    """S14: what would climb out of a folder or break a header is left out of it."""
    async with house(ROOMY) as place, place.client() as client:
        sent = await client.post("/api/files", files={"file": (name, b"hello")})
        assert sent.status_code == 201, sent.text
        assert sent.json()["name"] == (kept or f"{sent.json()['id']}.txt")
        content = await client.get(f"/api/files/{sent.json()['id']}/content")
        disposition = content.headers["content-disposition"]
        assert disposition.startswith("attachment; filename*=UTF-8''")
        assert not {"\r", "\n", " x"} & set(disposition)


async def test_a_file_is_not_larger_than_it_may_be() -> None:
    """C9: 25 MiB pass and one byte more does not, said by its length or found out as it comes."""
    limit = ServerLimits().file_bytes
    async with house(ROOMY) as place, place.client() as client:
        full = await _upload(client, bytes(limit))
        assert full.status_code == 201, full.text
        assert full.json()["size"] == limit
        refused = await _upload(client, bytes(limit + 1))
        assert (refused.status_code, code_of(refused)) == (413, "file_too_large")
        told = await client.post("/api/files", content=b"x", headers={"content-length": str(10**12)})
        assert code_of(told) == "file_too_large"
        assert (await client.get(f"/api/files/{full.json()['id']}/content")).content == bytes(limit)


async def test_an_endless_upload_is_stopped_at_the_limit() -> None:
    """C9: it is refused while it comes, having been read little further than the limit."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 10_000
            yield b"x" * 10_000

    async with house(SMALL) as place, place.client() as client:
        refused = await soon(client.post("/api/files", content=endless()))
        assert code_of(refused) == "file_too_large"
        assert sent <= SMALL.file_bytes + 2 * 10_000


BOUNDARY = "multipart/form-data; boundary=b"
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhello\r\n'


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"", "application/octet-stream", "empty_file"),
        (b"", BOUNDARY, "invalid_body"),
        (PART, BOUNDARY, "invalid_body"),
        (PART + PART + b"--b--\r\n", BOUNDARY, "invalid_body"),
        (PART.replace(b"hello", b"") + b"--b--\r\n", BOUNDARY, "empty_file"),
        (PART.replace(b'"file"', b'"other"') + b"--b--\r\n", BOUNDARY, "invalid_body"),
        (PART.replace(b'name="file"; ', b"") + b"--b--\r\n", BOUNDARY, "invalid_body"),
        (b"--b--\r\n", BOUNDARY, "invalid_body"),
        (PART + b"--b--\r\n", "multipart/form-data", "invalid_body"),
        (PART + b"--b--\r\n", "multipart/form-data; boundary=" + "b" * 5000, "invalid_body"),
        (b"--b\r\n" + b"X: y\r\n" * 10_000 + b"\r\n", BOUNDARY, "invalid_body"),
        (b"--b\r\nX: " + b"y" * 50_000, BOUNDARY, "invalid_body"),
        (b"nonsense" * 5000, BOUNDARY, "invalid_body"),
        (
            PART + PART.replace(b'"file"', b'"session_id"').replace(b"hello", b"s" * 3000),
            BOUNDARY,
            "invalid_body",
        ),
    ],
)
async def test_a_form_that_cannot_be_read_gets_a_code(body: bytes, kind: str, code: str) -> None:
    """C2: whatever comes as an upload is a file or refused, never a failure."""
    async with house(SMALL) as place, place.client() as client:
        refused = await client.post("/api/files", content=body, headers={"content-type": kind})
        assert refused.status_code == 422, refused.text
        assert code_of(refused) == code


async def test_a_file_is_its_owners_alone() -> None:
    """S14: for another user and another tenant there is no such file, to look at, load, delete or send."""
    async with house(ROOMY) as place, place.client() as client:
        file_id = (await _upload(client, PNG)).json()["id"]
        for stranger in ("bob", "cid"):
            async with place.client(stranger) as other:
                for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
                    refused = await other.request(method, f"/api/files/{file_id}{path}")
                    assert (refused.status_code, code_of(refused)) == (404, "file_not_found")
                session_id = await place.start_session(other, name=stranger)
                refused = await other.post(
                    f"/api/agent-sessions/{session_id}/message", json={"content": [_image(file_id)]}
                )
                assert (refused.status_code, code_of(refused)) == (404, "file_not_found")
        async with place.client(None) as nobody:
            assert code_of(await nobody.post("/api/files", content=PNG)) == "unauthenticated"
        assert (await client.get(f"/api/files/{file_id}/content")).content == PNG


def _image(file_id: str) -> dict[str, object]:
    return {"type": "image", "source": {"type": "file", "value": file_id}}


async def test_files_go_with_the_session_they_were_sent_in() -> None:
    """C5: sent in a message or uploaded for a session, they are the session's, and deleted with it."""
    async with house(ROOMY) as place, place.client() as client:
        session_id, other = await place.start_session(client), await place.start_session(client, name="B")
        sent = (await _upload(client, PNG)).json()["id"]
        given = (await _upload(client, PNG, session_id=session_id)).json()["id"]
        named = (await client.post(f"/api/files?session_id={session_id}", content=PNG)).json()["id"]
        for file_id in (sent, given, named):
            content = {"content": [_image(file_id)]}
            taken = await client.post(f"/api/agent-sessions/{session_id}/message", json=content)
            assert taken.status_code == 202, taken.text
            refused = await client.post(f"/api/agent-sessions/{other}/message", json=content)
            assert code_of(refused) == "file_not_found"
        assert (await client.delete(f"/api/agent-sessions/{session_id}")).status_code == 204
        for file_id in (sent, given, named):
            assert code_of(await client.get(f"/api/files/{file_id}")) == "file_not_found"
        gone = await client.post(f"/api/files?session_id={session_id}", content=PNG)
        assert (gone.status_code, code_of(gone)) == (404, "session_not_found")
        for query in (
            "session_id=",
            "session_id=" + "x" * 300,
            "session_id=a&session_id=b",
            "session_id=%00",
        ):
            assert code_of(await client.post(f"/api/files?{query}", content=PNG)) == "invalid_query"


async def test_too_many_files_that_nobody_sent_are_refused() -> None:
    """S14: what no message refers to is limited in number and in bytes."""
    limits = structs.replace(SMALL, unused_files=2, unused_file_bytes=5000)
    async with house(limits) as place, place.client() as client:
        assert (await _upload(client, b"x" * 4000)).status_code == 201
        refused = await _upload(client, b"x" * 2000)
        assert (refused.status_code, code_of(refused)) == (429, "too_many_files")
        assert "retry-after" in refused.headers
        assert (await _upload(client, b"x")).status_code == 201
        assert code_of(await _upload(client, b"x")) == "too_many_files"
        async with place.client("cid") as other:
            assert (await _upload(other, b"x" * 4000)).status_code == 201


async def test_what_nobody_sent_is_swept_after_a_day() -> None:
    """C9: the server clears away uploads that were forgotten."""
    async with house(structs.replace(ROOMY, sweep_s=0.01)) as place, place.client() as client:
        old, young = [(await _upload(client, PNG)).json()["id"] for _ in range(2)]
        await _grow_old(place, old)

        async with asyncio.timeout(60):
            while (await client.get(f"/api/files/{old}")).status_code != 404:
                pass
        assert (await client.get(f"/api/files/{young}")).status_code == 200


async def _grow_old(place: House, file_id: str) -> None:
    """Let a file have been uploaded two days ago."""
    store = place.store
    record = await store.get_file("default", "ann", file_id)
    data = await store.read_file("default", "ann", file_id, 0)
    await store.delete_file("default", "ann", file_id)

    async def again() -> AsyncIterator[bytes]:
        yield data or b""

    older = structs.replace(record, created_at=now_ms() - 2 * 24 * 3600 * 1000)
    await store.add_file(older, again(), FileQuota())


async def test_half_an_upload_leaves_nothing(tmp_path: Path) -> None:
    """B1: a client that goes away in the middle leaves no file, and no bytes on the disk."""
    async with served(tmp_path, ROOMY) as server:
        before = _spools()
        host, port = server.url.removeprefix("http://").split(":")
        for _ in range(3):
            _, writer = await asyncio.open_connection(host, int(port))
            key = server.headers["authorization"]
            writer.write(
                f"POST /api/files HTTP/1.1\r\nhost: {host}\r\nauthorization: {key}\r\n"
                "content-length: 2000000\r\n\r\n".encode()
            )
            writer.write(b"x" * 1_000_000)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        async with httpx.AsyncClient(base_url=server.url, headers=server.headers, timeout=60) as client:
            assert (await client.post("/api/files", content=PNG)).status_code == 201
            async with asyncio.timeout(60):
                while _spools() > before:
                    await client.get("/api/health")
        counted = await server.gateway.store.sweep_files(now_ms() + 1000)
        assert counted == 1


async def test_thirty_uploads_at_once_take_little_memory(tmp_path: Path) -> None:
    """C9: 30 uploads of 4 MiB under way together are never in memory together."""
    size, count = 4 * 1024 * 1024, 30
    piece = os.urandom(64 * 1024)

    async def slowly() -> AsyncIterator[bytes]:
        for _ in range(size // len(piece)):
            yield piece
            await asyncio.sleep(0)

    async with (
        served(tmp_path, ROOMY) as server,
        httpx.AsyncClient(base_url=server.url, headers=server.headers, timeout=60) as client,
    ):
        assert (await client.post("/api/files", content=b"warm")).status_code == 201
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            sent = await asyncio.gather(*(client.post("/api/files", content=slowly()) for _ in range(count)))
            peak = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        assert [answered.status_code for answered in sent] == [201] * count
        assert peak < count * size / 3
        seen = await client.get(f"/api/files/{sent[-1].json()['id']}/content")
        assert seen.content == piece * (size // len(piece))


async def test_query_and_form_name_the_same_session() -> None:
    """C9: a file is for one session, and nothing that was said is left out."""
    async with house(ROOMY) as place, place.client() as client:
        session = await place.start_session(client)
        sent = await client.post(
            f"/api/files?session_id={session}", files={"file": ("x", PNG)}, data={"session_id": "another"}
        )
        assert code_of(sent) == "invalid_body"
        sent = await client.post(
            f"/api/files?session_id={session}", files={"file": ("x", PNG)}, data={"session_id": session}
        )
        assert sent.status_code == 201, sent.text


async def test_more_keys_are_not_more_files() -> None:
    """S14: uploads are counted by user as well."""
    async with house(structs.replace(QUICK, files_per_minute=2)) as place, place.client() as ann:
        key = (await ann.post("/api/api-keys", json={"name": "second"})).json()
        second = place.client(None, {"authorization": f"Bearer {key['key']}"})
        assert [(await _upload(client, b"abc")).status_code for client in (ann, second)] == [201, 201]
        assert code_of(await _upload(second, b"abc")) == "rate_limited"


async def test_an_upload_by_a_key_that_was_revoked_meanwhile_is_refused() -> None:
    """R2: however long it takes to come."""
    async with house() as place, place.client() as ann:
        key = (await ann.post("/api/api-keys", json={"name": "second"})).json()

        async def slowly() -> AsyncIterator[bytes]:
            yield b"abc"
            assert (await ann.delete(f"/api/api-keys/{key['id']}")).status_code == 204
            yield b"def"

        second = place.client(None, {"authorization": f"Bearer {key['key']}"})
        sent = await second.post(
            "/api/files", content=slowly(), headers={"content-type": "application/octet-stream"}
        )
        assert code_of(sent) == "unauthenticated"
