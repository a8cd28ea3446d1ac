"""Makes vectors of texts, by a worker's task. Where no model is configured, or it does not answer, there are none."""

import asyncio
import logging
import time
from collections.abc import Sequence

from agio.core.link.link import Task
from agio.core.passage import EmbeddingModel
from agio.errors import AgioError
from agio.gateway.tools.endpoints import ModelEndpoints
from agio.gateway.workers.pool import WorkerPool

_log = logging.getLogger("agio.gateway")

_QUERY_S = 0.3
"""How long a search waits for the vector of its text."""
_REST_S = 30.0
"""How long searches do without, after the service failed one."""
_BATCH_S = 60.0


class Embedder:
    """Makes vectors with one model. Teams may have a provider of its provider's name; else it is the operator's."""

    def __init__(self, pool: WorkerPool, endpoints: ModelEndpoints, model: EmbeddingModel) -> None:
        self.model = model
        self._pool = pool
        self._endpoints = endpoints
        self._rest_until: dict[str, float] = {}

    async def of_query(self, tenant: str, text: str) -> list[float] | None:
        """Return the vector of a search's text; None if it does not come in time."""
        if self._rest_until.get(tenant, 0.0) > time.monotonic():
            return None
        try:
            async with asyncio.timeout(_QUERY_S):
                [vector] = await self._embed(tenant, [text], _QUERY_S)
        except (AgioError, TimeoutError) as error:
            self._rest_until[tenant] = time.monotonic() + _REST_S
            _log.info(
                "searches go without %s for %g s: %s", self.model.name, _REST_S, error or "it is too slow"
            )
            return None
        return vector

    async def of_texts(self, tenant: str, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts. Raises ModelError, StoreError, UserError."""
        return await self._embed(tenant, texts, _BATCH_S)

    async def _embed(self, tenant: str, texts: Sequence[str], timeout_s: float) -> list[list[float]]:
        task = Task(
            wants="embeddings",
            provider=self.model.provider,
            model=self.model.model,
            instructions="",
            prompt="",
            timeout_s=timeout_s,
            endpoint=await self._endpoints.named(tenant, self.model.provider),
            again=False,
            texts=list(texts),
            size=self.model.size,
        )
        return (await self._pool.perform(task, tenant)).vectors
