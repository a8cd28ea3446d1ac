"""Adds files to a collection of a running server, and goes on with those that change."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from agio.cli.client.server_client import ServerClient
from agio.documents.formats import HEAD_BYTES, format_of
from agio.errors import AgioError, UserError
from agio.gateway.routes.documents.views import (
    AddedDocument,
    Collections,
    CollectionView,
    DocumentView,
    VersionView,
)

_WATCH_S = 1.0
_POLL_S = 0.2
_ENDED = frozenset({"published", "failed", "cancelled", "superseded"})


async def add_documents(client: ServerClient, path: Path, collection: str) -> int:
    """Add a file, or the files of a folder, and wait until they are ingested. Returns how many failed."""
    files = _files(path)
    if not files:
        raise UserError("no_documents", f"There is no document at {path}.", {"path": str(path)})
    collection_id = await _collection(client, collection)
    return await _add(client, collection_id, files)


async def watch_documents(client: ServerClient, path: Path, collection: str) -> int:
    """Add the files of a folder, and those that appear or change, until interrupted."""
    collection_id = await _collection(client, collection)
    seen: dict[str, tuple[int, int]] = {}
    while True:
        files = _files(path)
        states = {name: (file.stat().st_mtime_ns, file.stat().st_size) for name, file in files.items()}
        changed = {name: file for name, file in files.items() if seen.get(name) != states[name]}
        if changed:
            await _add(client, collection_id, changed)
            seen = states
        await asyncio.sleep(_WATCH_S)


async def _add(client: ServerClient, collection_id: str, files: Mapping[str, Path]) -> int:
    failed = 0
    waiting: dict[str, str] = {}
    for name, file in files.items():
        try:
            data = await asyncio.to_thread(file.read_bytes)
            where = f"/api/collections/{collection_id}/files?name={quote(name, safe='')}"
            added = await client.upload(where, data, AddedDocument)
        except (AgioError, OSError) as error:
            failed += 1
            print(f"{name}: {error}")
            continue
        if added.is_new:
            waiting[name] = added.document.id
        else:
            print(f"{name}: unchanged")
    for name, document_id in waiting.items():
        version = await _ended(client, document_id)
        if version.state == "failed":
            failed += 1
            print(f"{name}: {version.error_message}")
        else:
            print(f"{name}: {version.state}, {version.passages} passages")
    return failed


async def _ended(client: ServerClient, document_id: str) -> VersionView:
    while True:
        newest = (await client.get(f"/api/documents/{document_id}", DocumentView)).newest
        if newest is not None and newest.state in _ENDED:
            return newest
        await asyncio.sleep(_POLL_S)


async def _collection(client: ServerClient, name: str) -> str:
    """Return the id of the collection with a name, which is made if there is none."""
    after: str | None = None
    while True:
        page = await client.get("/api/collections", Collections, after=after, limit=200)
        for each in page.items:
            if each.name == name:
                return each.id
        if (after := page.next) is None:
            return (await client.post("/api/collections", {"name": name}, CollectionView)).id


def _files(path: Path) -> dict[str, Path]:
    """Return the documents of a folder by their names in it, or the one file."""
    if path.is_file():
        return {path.name: path}
    return {file.relative_to(path).as_posix(): file for file in sorted(_walk(path))}


def _walk(folder: Path) -> Iterator[Path]:
    """Return the files that have a known format. Hidden ones are left out."""
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from _walk(entry)
        elif entry.is_file():
            with entry.open("rb") as file:
                head = file.read(HEAD_BYTES)
            if head and format_of(entry.name, head) != "unknown":
                yield entry
