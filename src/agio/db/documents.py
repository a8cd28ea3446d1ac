"""Writes and deletes documents in short commits, so that other writes do not wait long."""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from agio.core.document import NewVersion
from agio.db.executor import Executor
from agio.db.plans.documents import collections, documents, ingestion
from agio.errors import AgioError

_CHUNKS_A_COMMIT = 4
_DOCUMENTS_AT_ONCE = 100


class Begun:
    """A version whose bytes are to be written. `version_id` None: its document's newest version has them."""

    def __init__(self, executor: Executor, tenant: str, document_id: str, version_id: str | None) -> None:
        self.document_id = document_id
        self.version_id = version_id
        self._executor = executor
        self._tenant = tenant

    @asynccontextmanager
    async def written(self, chunks: AsyncIterable[bytes]) -> AsyncGenerator[tuple[int, Sequence[bytes]]]:
        """Write all chunks but the last few, which the commit that finishes the version writes.

        If that fails the version is dropped; a sweep drops what a crash leaves.
        """
        version_id = self.version_id or ""
        try:
            first, batch = 0, list[bytes]()
            async for chunk in chunks:
                if len(batch) == _CHUNKS_A_COMMIT:
                    await self._executor.write(partial(documents.add_chunks, version_id, first, tuple(batch)))
                    first += len(batch)
                    batch.clear()
                batch.append(chunk)
            yield first, tuple(batch)
        except Exception:
            with suppress(AgioError):
                drop = partial(documents.drop_version, self._tenant, self.document_id, version_id)
                await self._executor.write(drop)
            raise


async def begin_version(executor: Executor, tenant: str, user: str, new: NewVersion, *, team: bool) -> Begun:
    """Begin a version. Raises as the port says."""
    found = await executor.write(partial(documents.begin_version, tenant, user, new, team=team))
    return Begun(executor, tenant, *found)


async def clean_index(executor: Executor, tenant: str, document_id: str) -> None:
    """Remove from the index the versions of a document that ended and are not published."""
    for version_id in await executor.read(partial(ingestion.unneeded_versions, tenant, document_id)):
        while await executor.write(partial(documents.drop_indexed, tenant, version_id)):
            pass


async def remove_document(executor: Executor, tenant: str, document_id: str) -> None:
    """Remove a hidden document with all that it has."""
    for version_id in await executor.read(partial(documents.versions_of, tenant, document_id)):
        while await executor.write(partial(documents.drop_indexed, tenant, version_id)):
            pass
        while await executor.write(partial(documents.drop_passages, tenant, version_id)):
            pass
    await executor.write(partial(documents.drop_document, tenant, document_id))


async def remove_collection(executor: Executor, tenant: str, collection_id: str) -> None:
    """Remove a hidden collection with its documents."""
    find = partial(collections.documents_of_collection, tenant, collection_id, _DOCUMENTS_AT_ONCE)
    while found := await executor.read(find):
        for document_id in found:
            await executor.write(partial(documents.hide, tenant, document_id))
            await remove_document(executor, tenant, document_id)
    await executor.write(partial(collections.drop_collection, tenant, collection_id))


async def sweep(executor: Executor, before: int, limit: int) -> int:
    """Remove what deletions and uploads that broke off before a time left. Returns how many."""
    hidden, emptied, unfinished = await executor.read(partial(documents.left_behind, before, limit))
    for each in hidden:
        await remove_document(executor, each.tenant, each.id)
    for each in emptied:
        await remove_collection(executor, each.tenant, each.id)
    for each in unfinished:
        await executor.write(partial(documents.drop_version, each.tenant, each.document_id, each.id))
    return len(hidden) + len(emptied) + len(unfinished)
