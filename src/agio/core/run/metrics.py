"""Metrics of a step and a run: tokens, time, and cost where prices are configured."""

import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import UNSET, Struct

from agio.core.config import Price
from agio.core.model import Usage
from agio.core.store.repository import Charge
from agio.protocol.events import TokenUsage
from agio.protocol.messages import Json

NO_PRICES: Mapping[str, Price] = MappingProxyType({})


class Stopwatch(Struct):
    """Durations of one step, or of all steps of a run, in seconds."""

    model_s: float = 0.0
    first_token_s: float | None = None
    tools_s: float = 0.0
    attempts: int = 0

    def add(self, other: "Stopwatch") -> None:
        """Add the durations of a step."""
        self.model_s += other.model_s
        self.tools_s += other.tools_s
        self.attempts += other.attempts
        if self.first_token_s is None:
            self.first_token_s = other.first_token_s


def now_s() -> float:
    """Return the monotonic clock in seconds."""
    return time.monotonic()


def wall_ms() -> int:
    """Return the Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def cost(usage: Usage, model_id: str, prices: Mapping[str, Price]) -> float | None:
    """Return the cost of the tokens, None without a price for the model."""
    price = prices.get(model_id)
    if price is None:
        return None
    cached = price.input if price.cached_input is None else price.cached_input
    millions = (
        (usage.input - usage.cached) * price.input + usage.cached * cached + usage.output * price.output
    )
    return millions / 1_000_000


def run_cost(by_model: Mapping[str, Usage], model_id: str, prices: Mapping[str, Price]) -> float | None:
    """Return a run's cost over the models with a price, None if there is none.

    `model_id` is the configured model; it decides if no usage was recorded.
    """
    costs = [cost(usage, model, prices) for model, usage in (by_model or {model_id: Usage()}).items()]
    known = [value for value in costs if value is not None]
    return round(sum(known), 9) if known else None


def charge_of(calls: Iterable[tuple[str, Usage]], prices: Mapping[str, Price], rest: Charge) -> Charge:
    """Return the charge for model calls, each a model and its usage, on top of `rest`."""
    tokens_in, tokens_out, total = rest.input_tokens, rest.output_tokens, rest.cost
    for model, usage in calls:
        tokens_in, tokens_out = (tokens_in or 0) + usage.input, (tokens_out or 0) + usage.output
        price = cost(usage, model, prices)
        if price is not None:
            total = (total or 0.0) + price
    return Charge(tokens_in, tokens_out, total, rest.partial)


def report(
    usage: Usage, watch: Stopwatch, cost: float | None, usage_unknown: bool = False
) -> dict[str, Json]:
    """Build the value of an `agio.metrics` event for a step or a run.

    `usage_unknown`: a model call did not report its usage. Without any reported usage, tokens and cost are omitted.
    """
    is_known = usage.total > 0 or not usage_unknown
    tokens: dict[str, Json] = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cached_input_tokens": usage.cached,
        "reasoning_tokens": usage.reasoning,
    }
    value: dict[str, Json] = {
        **(tokens if is_known else {}),
        "model_ms": round(watch.model_s * 1000),
        "tool_ms": round(watch.tools_s * 1000),
        "model_calls": watch.attempts,
    }
    if watch.first_token_s is not None:
        value["first_token_ms"] = round(watch.first_token_s * 1000)
    if cost is not None and is_known:
        value["cost"] = round(cost, 9)
    if usage_unknown:
        value["usage_partial"] = True
    return value


def token_usage(by_model: dict[str, Usage]) -> list[TokenUsage]:
    """Convert usage by `provider:model` into the `usage` list of RUN_FINISHED and RUN_ERROR."""
    entries: list[TokenUsage] = []
    for model_id, usage in by_model.items():
        provider, _, model = model_id.partition(":")
        entry = TokenUsage(
            provider, model, usage.input, usage.output, usage.total, usage.reasoning, usage.cached
        )
        entry.cache_write_input_tokens = usage.cache_write or UNSET
        entries.append(entry)
    return entries


def usage_by_model(entries: Iterable[TokenUsage]) -> dict[str, Usage]:
    """Convert a list from `token_usage` back into usage by `provider:model`."""
    return {
        (entry.provider or "") + (f":{entry.model}" if entry.model else ""): Usage(
            entry.input_tokens or 0,
            entry.output_tokens or 0,
            entry.cached_input_tokens or 0,
            entry.reasoning_tokens or 0,
            entry.cache_write_input_tokens or 0,
        )
        for entry in entries
    }
