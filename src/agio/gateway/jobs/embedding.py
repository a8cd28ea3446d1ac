"""Embedding: the job that makes the vectors of passages that have none of the configured model.

Passages are found by their words at once; by meaning once this job has come to them. With another model it makes all
vectors anew, while searches compare those that are done.
"""

import logging
from collections.abc import Mapping, Sequence
from itertools import groupby

from agio.core.config import ServerLimits
from agio.core.passage import PassageToEmbed
from agio.core.store.jobs import JobRecord
from agio.core.store.store import Store
from agio.errors import AgioError
from agio.gateway.jobs.runner import JobKind
from agio.gateway.workers.embedder import Embedder

_log = logging.getLogger("agio.gateway")

EMBEDDING = "embed_passages"
_BATCH = 64
_CHARS = 8000
"""How much of a text the model gets."""


class Embedding:
    """Makes vectors. `kinds` is its kind of job; there is none without a model."""

    def __init__(self, store: Store, embedder: Embedder | None, limits: ServerLimits) -> None:
        self._store = store
        self._embedder = embedder
        self._every_s = limits.sweep_s
        self.kinds: Mapping[str, JobKind] = (
            {}
            if embedder is None
            else {EMBEDDING: JobKind(run=self._run, every_s=limits.sweep_s, attempts=None)}
        )

    async def _run(self, job: JobRecord) -> None:
        after, failed = 0, None
        while self._embedder is not None:
            model = self._embedder.model.name
            waiting = await self._store.passages_to_embed(model, after, _BATCH)
            if not waiting:
                break
            after = waiting[-1].number
            for tenant, found in groupby(sorted(waiting, key=_tenant), key=_tenant):
                try:
                    await self._embed(self._embedder, tenant, list(found))
                except AgioError as error:  # another tenant's provider may work
                    failed = error
        if failed is not None:
            raise failed
        await self._store.finish_job(job.done(int(self._every_s * 1000)))

    async def _embed(self, embedder: Embedder, tenant: str, passages: Sequence[PassageToEmbed]) -> None:
        vectors = await embedder.of_texts(tenant, [passage.text[:_CHARS] for passage in passages])
        await self._store.put_vectors(embedder.model.name, list(zip(passages, vectors, strict=True)))


def _tenant(passage: PassageToEmbed) -> str:
    return passage.tenant
