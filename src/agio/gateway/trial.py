"""Tries a model's endpoint: a worker asks it for a word, and what came of it is said so that a person understands."""

import asyncio
import time

from msgspec import Struct

from agio.core.link import Task
from agio.core.provider import ModelEndpoint
from agio.errors import AgioError, ModelError
from agio.gateway.link import LinkService

TIMEOUT_S = 30.0
_SLACK_S = 5.0
"""How much longer than the worker, which has the same time-out, the gateway waits."""
_OUTPUT_TOKENS = 16
"""The least that every vendor takes."""
_TEXT_CHARS = 200

WORDS = {
    "invalid_api_key": "The API key is not accepted. Check that it is complete, belongs to this service, and has "
    "not been revoked.",
    "missing_api_key": "This service needs an API key. Enter one, or the base URL of a service that needs none.",
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
    "no_worker": "No worker is connected to this server, so no model can be called. Its operator starts one.",
    "link_lost": "The worker that made the call was lost. Try again.",
}
"""What a person is told, by the error's code."""
_QUIET = frozenset({"no_worker", "turn_timeout", "egress_refused", "missing_api_key"})
"""Codes whose words need nothing added."""


class ConnectionTest(Struct, frozen=True, kw_only=True):
    """What came of trying a provider. `message` is for people; `code` is the error's, null if all went well."""

    ok: bool
    model: str
    latency_ms: int
    message: str
    text: str | None = None
    """What the model said."""
    code: str | None = None


async def try_endpoint(link: LinkService, tenant: str, endpoint: ModelEndpoint, model: str) -> ConnectionTest:
    """Let a worker ask a model for a word, once. Raises nothing of what may be wrong with the endpoint."""
    task = Task(
        provider=endpoint.kind,
        model=model,
        instructions="You are asked to prove that you can be reached.",
        prompt="Reply with the word OK.",
        max_output_tokens=_OUTPUT_TOKENS,
        timeout_s=TIMEOUT_S,
        endpoint=endpoint,
        again=False,
    )
    began = time.perf_counter()
    try:
        async with asyncio.timeout(TIMEOUT_S + _SLACK_S):
            result = await link.perform(task, tenant)
    except TimeoutError:
        return _failed(ModelError("turn_timeout", "No answer came."), model, began)
    except AgioError as error:
        return _failed(error, model, began)
    return ConnectionTest(
        ok=True,
        model=model,
        latency_ms=_since(began),
        message=f"The model {model} answered.",
        text=result.text[:_TEXT_CHARS],
    )


def _failed(error: AgioError, model: str, began: float) -> ConnectionTest:
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
