"""The operator's model providers: reachable, and the key works. One short request each."""

import asyncio

from agio.cli.operate.checks.finding import Finding, ok, problem, warning
from agio.core.config import AgentRunConfig
from agio.core.link.link import Task
from agio.drivers.registry import open_driver
from agio.errors import AgioError
from agio.settings import Settings
from agio.worker.task import perform_task

TIMEOUT_S = 10.0
_MODEL = "agio-doctor"
"""A model that does not exist: the error shows that address and key are right, and it costs nothing."""
_THERE = frozenset({"model_not_found", "bad_request", "permission_denied"})
_LATER = frozenset({"rate_limited", "quota_exceeded", "model_overloaded", "model_unavailable"})


async def check_models(settings: Settings, *, offline: bool) -> list[Finding]:
    """Check every provider that has a key or an address."""
    configured = providers_of(settings)
    if not configured:
        advice = "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or let each team enter its own."
        return [warning("models", "none configured; only the demo model works", advice)]
    if offline:
        return [ok("models", f"{', '.join(configured)} configured, not called")]
    return list(await asyncio.gather(*(_check(settings, provider) for provider in configured)))


def providers_of(settings: Settings) -> list[str]:
    """Return the configured providers. Of OpenAI's two formats, the one its address most likely speaks."""
    names = settings.with_models()
    spoken = "openai" if settings.endpoint("openai").base_url is None else "openai-chat"
    return [name for name in names if name not in ("openai", "openai-chat") or name == spoken]


async def _check(settings: Settings, provider: str) -> Finding:
    subject = f"model {provider}"
    task = Task(
        provider=provider,
        model=_MODEL,
        instructions="",
        prompt="Say OK.",
        max_output_tokens=16,
        timeout_s=TIMEOUT_S,
        again=False,
    )
    try:
        driver = open_driver(provider, settings.endpoint(provider))
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await perform_task(driver, task, AgentRunConfig())
        finally:
            await driver.aclose()
    except TimeoutError:
        return problem(subject, f"no answer within {TIMEOUT_S:g} s", "Check the network and the base URL.")
    except AgioError as error:
        if error.code in _THERE:
            return ok(subject, "reachable, and the key works")
        if error.code in _LATER:
            return warning(subject, error.message, "Wait, or ask the provider.")
        if error.code == "invalid_api_key":
            return problem(subject, error.message, "Check the key.")
        return problem(
            subject, f"{error.message} [{error.code}]", "Check the base URL, the network and the key."
        )
    return ok(subject, "reachable")
