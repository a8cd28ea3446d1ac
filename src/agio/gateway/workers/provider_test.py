"""Tests a model's endpoint: a worker asks it for a word and for its list of models.

The result is described for people.
"""

import asyncio
import time

from msgspec import Struct, structs

from agio.core.link.link import Task, TaskResult
from agio.core.provider import ModelEndpoint
from agio.errors import AgioError, ModelError, UserError
from agio.gateway.workers.pool import WorkerPool

TIMEOUT_S = 30.0
LIST_TIMEOUT_S = 10.0
_SLACK_S = 5.0
"""How much longer the gateway waits than the worker, which has the same time-out."""
_OUTPUT_TOKENS = 16
"""The smallest limit that every vendor accepts."""
_TEXT_CHARS = 200

WORDS = {
    "invalid_api_key": "The API key is not accepted. Check that it is complete, belongs to this service, and has "
    "not been revoked.",
    "missing_provider_key": "This service needs an API key. Enter one, or the base URL of a service that needs none.",
    "permission_denied": "The API key is known, but may not use this model. Check what its owner has allowed it.",
    "model_not_found": "The service answers, but has no model {model}. Check the model's name; if it is right, "
    "check the path of the base URL.",
    "connection_failed": "The address cannot be reached. Check the base URL, and that the service is running.",
    "egress_refused": "The address is not public, and this server does not call it. If that is meant to be, its "
    "operator adds the host to AGIO_EGRESS_ALLOW.",
    "invalid_base_url": "The base URL is no address of a service. It looks like https://api.example.com/v1.",
    "invalid_response": "Something answers at this address, but it is no model server of this kind. Check the base "
    "URL and the kind.",
    "bad_request": "The service does not accept the request. Check the kind, the model and the base URL.",
    "request_too_large": "The service does not accept even a short request. Check the kind and the base URL.",
    "context_too_long": "The service does not accept even a short request. Check the model.",
    "rate_limited": "The address and the key work, but the service is limiting the rate of calls right now. Try "
    "again in a minute.",
    "quota_exceeded": "The address and the key work, but there is no credit left, or the quota is used up. Add "
    "credit at the provider.",
    "model_overloaded": "The address works, but the model is overloaded right now. Try again in a minute.",
    "model_unavailable": "The service answers, but with a failure of its own. Try again later, or ask its operator.",
    "stream_broken": "The service began to answer, and broke off. Try again; if it stays so, check the kind.",
    "turn_timeout": "The model did not answer within {timeout:g} seconds. It may be slow to start: try again.",
    "model_required": "The service does not say which models it has. Enter the name of one, and try again.",
    "no_worker": "No worker is connected to this server, so no model can be called. Its operator starts one.",
    "link_lost": "The worker that made the call was lost. Try again.",
}
"""The message for people, by the error's code."""
_QUIET = frozenset({"no_worker", "turn_timeout", "egress_refused", "missing_provider_key"})
"""Codes whose message is complete without the error's own."""
_ASK_FOR_LIST = frozenset({None, "model_not_found", "permission_denied"})
"""Results after which the list of models is useful."""
_NO_LIST = frozenset({"model_not_found", "bad_request", "stream_broken", "model_unavailable"})
"""How a service without a list answers a request for one."""


class ConnectionTest(Struct, frozen=True, kw_only=True):
    """The result of a test. `message` is for people; `code` is the error's, null on success."""

    ok: bool
    model: str | None
    """Null if none was named: then only the list of models was requested."""
    latency_ms: int
    message: str
    text: str | None = None
    """The model's answer."""
    code: str | None = None
    models: list[str] | None = None
    """The models of the service, at most 500 names; null if it has no list or did not answer."""


async def try_endpoint(
    pool: WorkerPool, tenant: str, endpoint: ModelEndpoint, model: str | None
) -> ConnectionTest:
    """Have a worker ask a model for a word, once, and its service for a list of models; without a model only the list.

    An endpoint that fails is a result, not an exception.
    """
    began = time.perf_counter()
    if model is None:
        return await _try_list(pool, tenant, endpoint)
    try:
        result = await _perform(pool, tenant, _word(endpoint, model))
    except AgioError as error:
        tested = _failed(error, model, began)
    else:
        tested = ConnectionTest(
            ok=True,
            model=model,
            latency_ms=_since(began),
            message=f"The model {model} answered.",
            text=result.text[:_TEXT_CHARS],
        )
    if tested.code not in _ASK_FOR_LIST:
        return tested
    try:
        listed = await _perform(pool, tenant, _list(endpoint))
    except AgioError:  # many services work without a list
        return tested
    return structs.replace(tested, models=listed.models)


async def _try_list(pool: WorkerPool, tenant: str, endpoint: ModelEndpoint) -> ConnectionTest:
    began = time.perf_counter()
    try:
        models = (await _perform(pool, tenant, _list(endpoint))).models
    except AgioError as error:
        if error.code in _NO_LIST:
            error = UserError("model_required", error.message)
        return _failed(error, None, began)
    if not models:
        return _failed(UserError("model_required", "Its list of models is empty."), None, began)
    count = "1 model" if len(models) == 1 else f"{len(models)} models"
    return ConnectionTest(
        ok=True,
        model=None,
        latency_ms=_since(began),
        message=f"The service offers {count}. Choose one, and try it.",
        models=models,
    )


def _word(endpoint: ModelEndpoint, model: str) -> Task:
    return Task(
        provider=endpoint.kind,
        model=model,
        instructions="You are asked to prove that you can be reached.",
        prompt="Reply with the word OK.",
        max_output_tokens=_OUTPUT_TOKENS,
        timeout_s=TIMEOUT_S,
        endpoint=endpoint,
        again=False,
    )


def _list(endpoint: ModelEndpoint) -> Task:
    return Task(
        wants="models",
        provider=endpoint.kind,
        model="",
        instructions="",
        prompt="",
        timeout_s=LIST_TIMEOUT_S,
        endpoint=endpoint,
        again=False,
    )


async def _perform(pool: WorkerPool, tenant: str, task: Task) -> TaskResult:
    """Raises AgioError, ModelError `turn_timeout` for a worker that does not answer."""
    try:
        async with asyncio.timeout(task.timeout_s + _SLACK_S):
            return await pool.perform(task, tenant)
    except TimeoutError as error:
        raise ModelError("turn_timeout", "No answer came.") from error


def _failed(error: AgioError, model: str | None, began: float) -> ConnectionTest:
    words = WORDS.get(error.code)
    if words is None:
        said = error.message
    else:
        said = words.format(model=model, timeout=TIMEOUT_S)
        if error.code not in _QUIET:
            said = f"{said} ({error.message.rstrip('.')}.)"
    return ConnectionTest(ok=False, model=model, latency_ms=_since(began), message=said, code=error.code)


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)
