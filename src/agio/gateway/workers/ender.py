"""Ends runs that no worker ends: cancelled in the queue, overdue after a cancel, expired, in a crash loop.

It writes as a worker would, under a claim of its own: it folds the log and closes what is open.
"""

from collections.abc import Mapping
from typing import assert_never

from msgspec import structs

from agio.core.config import Price
from agio.core.run.closing import closing_frame, last_charge, outcome_of
from agio.core.run.fold import Fold
from agio.core.run.metrics import run_cost
from agio.core.store.records import Claimed, EventSlice
from agio.core.store.repository import Append, RunInfo, RunStatus, ToolEnd
from agio.core.store.store import Store
from agio.errors import AgioError, StoreError
from agio.gateway.counters import Counters
from agio.gateway.stream.folds import Folds
from agio.gateway.stream.hub import Hub
from agio.gateway.workers.recall import extraction_delay_ms


class Ender:
    """Writes the end of claimed runs."""

    def __init__(
        self, store: Store, hub: Hub, counters: Counters, prices: Mapping[str, Price], idle_ms: int
    ) -> None:
        self._store = store
        self._hub = hub
        self._counters = counters
        self._prices = prices
        self._folds = Folds()
        self._idle_ms = idle_ms

    async def end(self, claimed: Claimed, failure: AgioError | None = None) -> None:
        """End a run with a failure, or with the status its claim asks for; without one, `cancelled`.

        Raises StoreError, and UserError `run_not_found`.
        """
        info, store = claimed.info, self._store
        if claimed.started:
            self._hub.publish(
                claimed.session_id, EventSlice(info.run_id, info.first_pos + 1, 1, claimed.started)
            )
        status, error = _outcome(claimed) if failure is None else ("failed", failure)
        damaged = False
        try:
            fold = await self._folds.fold_run(store, await store.get_log(info.run_id))
        except StoreError as damage:
            if damage.code != "store_corrupt":
                raise
            # An unreadable log cannot be closed, but the session must be able to continue.
            fold = Fold()
            fold.run_id, fold.session_id, fold.seq = info.run_id, info.session_id, info.last_seq
            status, error, damaged = "failed", damage, True
        acted: list[str] = []
        if fold.open_calls:
            acted = await self._acted(info)
        frame = closing_frame(fold, info.epoch, error, acted)
        # A step without a turn may or may not have reached its model: its usage is unknown.
        usage_unknown = fold.usage_unknown or any(
            lane.steps and not lane.turn_done for lane in fold.all_lanes
        )
        outcome = outcome_of(fold, status)
        charge = last_charge(fold, run_cost({}, info.model, self._prices), usage_unknown=usage_unknown)
        await store.append(
            Append(
                frame,
                end=status,
                error_code=None if error is None else error.code,
                ends=[ToolEnd(key, "unknown") for key in acted],
                outcome=structs.replace(outcome, steps=None) if damaged else outcome,
                error_message=None if error is None else error.message,
                charge=None if damaged else charge,
                extract_in_ms=extraction_delay_ms(claimed.agent, status, outcome, self._idle_ms),
            )
        )
        self._counters.runs_ended[status] += 1
        events = EventSlice(info.run_id, info.first_pos + frame.first_seq, frame.count, frame.payload)
        self._hub.publish(claimed.session_id, events)

    async def _acted(self, info: RunInfo) -> list[str]:
        """Return the calls that must happen once and may have taken effect."""
        acted: list[str] = []
        after: str | None = None
        while True:
            page = await self._store.list_tool_executions(info.tenant, info.user, info.run_id, after=after)
            acted += [call.key for call in page.items if call.state == "started" and call.effect == "once"]
            if (after := page.next) is None:
                return acted


def _outcome(claimed: Claimed) -> tuple[RunStatus, AgioError | None]:
    match claimed.must_end:
        case None | "cancelled":
            return "cancelled", None
        case "expired":
            return "expired", AgioError(
                "expired", "The run waited in the queue for too long. Send the message again."
            )
        case "crash_loop":
            text = "The run was started three times and finished no turn. It was given up."
            return "failed", AgioError("crash_loop", text)
        case "unreadable":
            text = "The run could not start: its stored input cannot be read. Send the message again."
            return "failed", AgioError("run_unreadable", text)
        case _:
            assert_never(claimed.must_end)
