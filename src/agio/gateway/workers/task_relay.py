"""TaskRelay: short model tasks for workers that are linked to other gateways, over the bus.

A task travels as on the link. The key of a team's own provider does not: it is sealed with the master key that all
gateways have.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec
from msgspec import structs

from agio.bus.bus import INLINE_BYTES
from agio.bus.signals import Answered, Asked
from agio.core.link import wire
from agio.core.link.link import Task, TaskResult
from agio.core.provider import KEY_FIELD, SecretPlace
from agio.errors import AgioError, ModelError, StoreError
from agio.gateway.peers import Peers
from agio.protocol.ids import new_id
from agio.vault import Vault

_log = logging.getLogger("agio.gateway")

_TEXTS = 8
"""How many texts are made vectors of at a time: more vectors than that may be too large for the bus."""
_SLACK_S = 2.0
"""How much longer a gateway waits than the worker has."""

_decode = msgspec.msgpack.Decoder(wire.Performed | wire.Failed).decode
Perform: TypeAlias = Callable[[Task, str], Awaitable[TaskResult]]


class TaskRelay:
    """Asks other gateways to have a task performed, and answers when it is asked."""

    def __init__(self, peers: Peers, vault: Vault | None, perform: Perform) -> None:
        self._peers = peers
        self._vault = vault
        self._perform = perform
        self._waiting: dict[str, asyncio.Future[TaskResult]] = {}

    async def perform(self, task: Task, tenant: str) -> TaskResult:
        """Have a worker of another gateway perform a task.

        Raises ModelError `no_worker`, `link_lost`, and what the worker raises.
        """
        if len(task.texts) <= _TEXTS:
            return await self._ask(task, tenant)
        results = [
            await self._ask(structs.replace(task, texts=task.texts[at : at + _TEXTS]), tenant)
            for at in range(0, len(task.texts), _TEXTS)
        ]
        return structs.replace(results[0], vectors=[each for result in results for each in result.vectors])

    async def _ask(self, task: Task, tenant: str) -> TaskResult:
        gateway = self._peers.gateway_for(tenant)
        if gateway is None:
            raise ModelError("no_worker", "No worker is connected. Start one.", retryable=True)
        if not self._peers.bus.connected:
            raise ModelError(
                "no_worker",
                "The workers are linked to other gateways, which cannot be asked while NATS is away.",
                retryable=True,
            )
        asked = self._packed(task, tenant, gateway)
        answer = self._waiting[asked.id] = asyncio.get_running_loop().create_future()
        try:
            self._peers.bus.send(asked)
            async with asyncio.timeout(task.timeout_s + _SLACK_S):
                return await answer
        except TimeoutError as error:
            raise ModelError("link_lost", "The worker's gateway did not answer.", retryable=True) from error
        finally:
            del self._waiting[asked.id]

    def _packed(self, task: Task, tenant: str, gateway: str) -> Asked:
        number, key = new_id("ask"), None
        endpoint = task.endpoint
        if self._vault is not None and endpoint is not None and endpoint.api_key is not None:
            key = self._vault.seal(SecretPlace(tenant, number, KEY_FIELD), endpoint.api_key)
            task = structs.replace(task, endpoint=structs.replace(endpoint, api_key=None))
        packed = msgspec.msgpack.encode(task)
        if len(packed) > INLINE_BYTES:
            raise ModelError("request_too_large", "The task is too large for another gateway's worker.")
        return Asked(gateway, self._peers.gateway, number, tenant, packed, key)

    async def answer(self, asked: Asked) -> None:
        """Perform another gateway's task, and answer it."""
        try:
            frame = wire.encode_frame(wire.Performed(0, await self._perform(self._open(asked), asked.tenant)))
            if len(frame) > INLINE_BYTES:
                raise ModelError("invalid_response", "The answer is too large to be passed on.")
        except AgioError as error:
            frame = wire.encode_frame(wire.failed(0, error))
        self._peers.bus.send(Answered(asked.sender, asked.id, frame))

    def _open(self, asked: Asked) -> Task:
        task = msgspec.msgpack.decode(asked.task, type=Task)
        if asked.key is None or task.endpoint is None:
            return task
        if self._vault is None:
            raise StoreError("secret_unreadable", "This gateway has no master key.")
        key = self._vault.open(SecretPlace(asked.tenant, asked.id, KEY_FIELD), asked.key)
        return structs.replace(task, endpoint=structs.replace(task.endpoint, api_key=key))

    def take(self, answered: Answered) -> None:
        """Take the answer to a task that was asked here."""
        waiting = self._waiting.get(answered.id)
        if waiting is None or waiting.done():
            return
        try:
            frame = _decode(answered.frame)
        except msgspec.DecodeError as error:  # of a version that says it differently
            _log.warning("another gateway's answer could not be read: %s", error)
            return
        if isinstance(frame, wire.Performed):
            waiting.set_result(frame.result)
        else:
            waiting.set_exception(frame.error())
