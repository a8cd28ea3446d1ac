"""Ingestion: the job that reads a version of a document in a subprocess, indexes it, and publishes it as a whole.

It may be run again from its beginning: passages are written under their ids, and only the switch publishes them.
"""

import asyncio
import hashlib
import logging
import time
import xml.etree.ElementTree as ET  # nosec B405: a document with entities is refused
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from functools import partial

import msgspec
from msgspec import Struct

from agio.core.config import ServerLimits
from agio.core.document import INGESTION, SITE, Counts, Ingestion, NewVersion, PassageFields, VersionState
from agio.core.file import CHUNK_BYTES
from agio.core.store.jobs import JobRecord
from agio.core.store.store import Store
from agio.documents.extractor import Extractor, as_file
from agio.documents.formats import HEAD_BYTES, format_of, media_type_of
from agio.egress import Egress, EgressRequest, EgressResponse
from agio.errors import AgioError, LimitExceeded, UpstreamError, UserError
from agio.gateway.jobs.runner import JobKind

_log = logging.getLogger("agio.gateway")

SWEEP = "sweep_documents"
_ATTEMPTS = 4
"""How often a version is begun: it may be what kills its gateway."""
_BATCH = 16
_PROGRESS_S = 0.5
_LEFT_MS = 3600 * 1000
"""After this time what a deletion or an upload left is swept."""
_HEADERS = [("Accept", "text/html, application/pdf, text/*;q=0.9, */*;q=0.5"), ("User-Agent", "agio")]
_SITEMAP_BYTES = 10 * 1024 * 1024
_SITEMAPS = 20


class Site(Struct, frozen=True):
    """What the job of a sitemap is to do."""

    collection_id: str
    user: str
    url: str
    limit: int


class _StoppedError(Exception):
    """The version was cancelled or deleted."""


class IngestionJobs:
    """Ingests documents. `kinds` are its kinds of jobs."""

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        egress: Egress,
        limits: ServerLimits,
    ) -> None:
        self._store = store
        self._extractor = extractor
        self._egress = egress
        self._limits = limits
        at_once = max(1, limits.jobs_at_once // 2)
        self.kinds: Mapping[str, JobKind] = {
            INGESTION: JobKind(run=self._ingest, attempts=None, at_once=at_once),
            SITE: JobKind(run=self._read_site, attempts=3, at_once=1),
            SWEEP: JobKind(run=self._sweep, every_s=limits.sweep_s, attempts=None),
        }

    async def _ingest(self, job: JobRecord) -> None:
        version = await self._store.version_to_ingest(job.key)
        if version is None:  # it was deleted, with all that it had
            await self._store.end_ingestion(job.key, job=job.done())
            return
        error: tuple[str, str] | None = None
        if version.state in ("waiting", "extracting", "indexing"):
            try:
                await self._publish(version, job.attempts)
            except _StoppedError:
                pass
            except (UserError, UpstreamError, LimitExceeded) as refusal:
                error = refusal.code, refusal.message
            except (AgioError, asyncio.CancelledError):
                raise
            except Exception:
                _log.exception("document version %s could not be ingested", version.version_id)
                error = "internal_error", "An unexpected error; see the server's log."
        if error is not None:
            await self._store.end_ingestion(version.version_id, error)
        await self._store.clean_index(version.tenant, version.document_id)
        await self._store.end_ingestion(version.version_id, job=job.done())

    async def _publish(self, version: Ingestion, attempts: int) -> None:
        """Read, index and publish a version. Raises _StoppedError, or the error that says why it failed."""
        if attempts > _ATTEMPTS:
            raise UserError(
                "ingestion_abandoned",
                f"The server stopped {_ATTEMPTS} times while it read the document. Add it again, in parts.",
            )
        store, version_id = self._store, version.version_id
        await self._note(version, "extracting", 0, None)
        if version.url is not None and not version.size:
            fetched = await self._fetch(version)
            if fetched is None:
                return
            version = fetched
        at = time.time_ns() // 1_000_000
        held: list[PassageFields] = []
        count = chars = tokens = 0
        pages: int | None = None
        noted = time.monotonic()
        async with (
            as_file(self._chunks(version)) as path,
            aclosing(self._extractor.read(path, version.format)) as lines,
        ):
            async for line in lines:
                if line.pages is not None:
                    pages = line.pages
                    if time.monotonic() > noted + _PROGRESS_S:
                        noted = time.monotonic()
                        await self._note(version, "extracting", line.page or 0, pages)
                tokens += line.tokens
                for passage in line.passages:
                    held.append(passage)
                    count, chars = passage.idx + 1, passage.end
                    if len(held) == _BATCH:
                        await self._put(version, held, at)
            await self._put(version, held, at)
        await self._note(version, "indexing", count, pages)
        if not await store.publish_version(version_id, Counts(pages, chars, tokens, count)):
            raise _StoppedError

    async def _put(self, version: Ingestion, held: list[PassageFields], at: int) -> None:
        if not await self._store.put_document_passages(version, tuple(held), at):
            raise _StoppedError
        held.clear()

    async def _note(self, version: Ingestion, state: VersionState, done: int, pages: int | None) -> None:
        if not await self._store.note_progress(version.version_id, state, done, pages):
            raise _StoppedError

    async def _chunks(self, version: Ingestion) -> AsyncGenerator[bytes]:
        place = (version.version_id, version.tenant, version.document_id)
        idx = 0
        while data := await self._store.read_version_chunk(*place, idx):
            yield data
            idx += 1

    async def _fetch(self, version: Ingestion) -> Ingestion | None:
        """Fetch the page of a version; None if it is as the published version has it."""
        url = version.url or ""
        response = await self._get(url, self._limits.document_bytes)
        body = response.body
        name = url.partition("?")[0].rpartition("/")[2]
        given = format_of(name, body[:HEAD_BYTES], response.header("content-type") or "")
        digest = hashlib.sha256(body).digest()
        chunks = [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)]
        put = partial(self._store.put_version_bytes, version.version_id, media_type_of(given), given, digest)
        if not body:
            raise UserError("empty_file", f"{url} is empty.")
        if not await put(chunks):
            await self._store.drop_version(version.tenant, version.document_id, version.version_id)
            return None
        return msgspec.structs.replace(version, format=given, size=len(body), digest=digest)

    async def _get(self, url: str, limit_bytes: int) -> EgressResponse:
        """Fetch a URL. Raises UserError `egress_refused`, UpstreamError."""
        response = await self._egress.request(
            EgressRequest("GET", url, _HEADERS, timeout_s=60, limit_bytes=limit_bytes)
        )
        if response.status >= 400:
            raise UpstreamError("document_not_fetched", f"{url} answered {response.status}.")
        return response

    async def _read_site(self, job: JobRecord) -> None:
        """Add the pages that a sitemap names. Each is fetched by a job of its own, through the same guard."""
        site = msgspec.json.decode(job.payload, type=Site)
        async for url in self._pages(site):
            new = NewVersion(
                collection_id=site.collection_id,
                name=url[:250],
                source="url",
                url=url,
                format="unknown",
                media_type="",
                size=0,
                digest=b"",
            )
            try:
                await self._store.add_document(job.tenant or "", site.user, new, _nothing(), team=True)
            except UserError:  # the collection was deleted
                break
        await self._store.finish_job(job.done())

    async def _pages(self, site: Site) -> AsyncIterator[str]:
        waiting, read, seen = [site.url], 0, set[str]()
        while waiting and read < _SITEMAPS:
            read += 1
            body = (await self._get(waiting.pop(0), _SITEMAP_BYTES)).body
            if b"<!ENTITY" in body:
                raise UserError("document_unreadable", "The sitemap defines entities.")
            try:
                root = ET.fromstring(body)  # nosec B314  # noqa: S314 - bounded, without entities
            except ET.ParseError as error:
                raise UserError("document_unreadable", f"The sitemap is not XML: {error}.") from error
            found = [
                (each.text or "").strip() for each in root.iter() if each.tag.rpartition("}")[2] == "loc"
            ]
            if root.tag.rpartition("}")[2] == "sitemapindex":
                waiting += found
                continue
            for url in found:
                if url and url not in seen:
                    if len(seen) == site.limit:
                        return
                    seen.add(url)
                    yield url

    async def _sweep(self, job: JobRecord) -> None:
        await self._store.sweep_documents(time.time_ns() // 1_000_000 - _LEFT_MS)
        await self._store.finish_job(job.done(int(self._limits.sweep_s * 1000)))


async def _nothing() -> AsyncGenerator[bytes]:
    for chunk in list[bytes]():
        yield chunk
