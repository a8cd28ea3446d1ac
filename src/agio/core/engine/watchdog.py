"""What keeps a model call in bounds: its timeouts, and the backoff before a retry."""

import asyncio
import random
from collections import Counter
from types import TracebackType

from agio.core.config import AgentRunConfig
from agio.errors import ModelError


def retry_delay(config: AgentRunConfig, error: ModelError, failures: Counter[str]) -> float | None:
    """Return the backoff before the next retry in seconds, or None if there is no retry."""
    if not error.retryable or failures[error.code] > config.retries.get(error.code, 0):
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= config.max_retry_after_s else None
    ceiling = min(config.max_backoff_s, config.backoff_s * 2 ** (failures.total() - 1))
    return ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not cryptography


class Watchdog:
    """Ends a turn that does not start, stalls, or takes too long: `async with`. It holds one timer at a time."""

    def __init__(self, config: AgentRunConfig) -> None:
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._started = self._last = self._loop.time()
        self._begun = False
        self._expired = "first_token_timeout"
        self.held = False
        """Whether reading is paused while the store or the reader catches up."""
        self._scope = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        """Watch what happens within."""
        await self._scope.__aenter__()
        self._check()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise ModelError if a timeout ended it."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._scope.__aexit__(kind, error, trace)
        except TimeoutError:
            raise self._error() from None
        if isinstance(error, TimeoutError):
            words = f"The model's driver timed out: {error}."
            raise ModelError("connection_failed", words, retryable=True) from error

    def alive(self, begun: bool) -> None:
        """Reset the idle timer. `begun` marks data that is part of the answer."""
        self._last = self._loop.time()
        if begun and not self._begun:
            self._begun = True
            self._check()

    def _error(self) -> ModelError:
        """Return the error for the timeout that expired."""
        code, config = self._expired, self._config
        messages = {
            "first_token_timeout": f"The model said nothing for {config.first_token_timeout_s:g} s.",
            "idle_timeout": f"The model fell silent in the middle of its answer for {config.idle_timeout_s:g} s.",
            "turn_timeout": f"The model was still answering after {config.turn_timeout_s:g} s.",
        }
        return ModelError(code, messages[code], retryable=code != "turn_timeout")

    def _check(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        config, now = self._config, self._loop.time()
        if self._begun:
            due, code = self._last + config.idle_timeout_s, "idle_timeout"
        else:
            due, code = self._started + config.first_token_timeout_s, "first_token_timeout"
        end = self._started + config.turn_timeout_s
        if end < due:
            due, code = end, "turn_timeout"
        if self.held:
            self._timer = self._loop.call_at(now + config.idle_timeout_s, self._check)
        elif due > now:
            self._timer = self._loop.call_at(due, self._check)
        else:
            self._expired = code
            self._scope.reschedule(now)
