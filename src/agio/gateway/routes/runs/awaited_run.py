"""A run whose caller waits for the end: the message goes through the intake, and the run's events are read.

The run does not depend on the caller: it continues after a disconnect or a timeout.
"""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeAlias

from agio.core.identity.principal import Principal
from agio.core.run.fold import Fold, fold_slices
from agio.core.store.records import AgentRecord, SessionRecord, Submission
from agio.core.store.repository import ENDED, RunInfo
from agio.errors import AgioError, ModelError, UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Receive
from agio.gateway.http.body import ClientGone
from agio.gateway.stream.connections import Cut
from agio.gateway.stream.event_slice import EncodedSlice
from agio.gateway.stream.hub import Subscription
from agio.protocol.frames import ends_run

Show: TypeAlias = Callable[[list[EncodedSlice]], Awaitable[None]]

_OURS = frozenset({"internal_error", "crash_loop", "agent_missing", "tool_missing"})
_LIMITS = frozenset(
    {
        *("step_limit", "token_budget", "turn_too_large", "run_too_large"),
        *("bad_tool_arguments", "output_invalid", "prompt_too_large"),
    }
)


class AwaitedRun:
    """An accepted run and a subscription to its session. Use it with `async with`."""

    def __init__(self, gateway: Gateway, run_id: str, events: Subscription) -> None:
        self.run_id = run_id
        self.session_id = events.session_id
        self.events = events
        self._gateway = gateway

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.events.close()

    async def ended(
        self, who: Principal, receive: Receive, timeout_s: float | None, show: Show | None = None
    ) -> bool:
        """Wait for the run's end; false on timeout. `show` is given the run's events as they come.

        Raises ClientGone when the client disconnects, UserError `session_not_found` when the session is deleted,
        `unauthenticated` when the credential is revoked, AgioError `not_ready` when the server stops.
        """
        watching = asyncio.ensure_future(self._watch(receive))
        try:
            async with asyncio.timeout(timeout_s), self._gateway.connections.open(who):
                while pieces := await self.events.take():
                    if show is not None:
                        await show([piece for piece in pieces if piece.run_id == self.run_id])
                    if self.is_last(pieces):
                        return True
        except TimeoutError:
            return False
        except Cut:
            raise UserError("unauthenticated", "This credential has expired or was revoked.") from None
        finally:
            watching.cancel()
        match self.events.ended:
            case "deleted":
                raise UserError(
                    "session_not_found", "The session was deleted.", {"session_id": self.session_id}
                )
            case "closing":
                raise AgioError(
                    "not_ready",
                    "The server is shutting down. The run continues later.",
                    {"run_id": self.run_id},
                )
            case _:
                raise ClientGone

    def is_last(self, pieces: list[EncodedSlice]) -> bool:
        """Whether the run's end is among these."""
        return any(piece.run_id == self.run_id and ends_run(piece.events.payload) for piece in pieces)

    async def fold(self) -> tuple[RunInfo, Fold]:
        """Return the run and the fold of its log so far. Raises UserError `run_not_found`."""
        log = await self._gateway.store.get_log(self.run_id)
        fold = Fold()
        await self._gateway.folds.finish(fold_slices(fold, log))
        return log.info, fold

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.events.end("left")


async def session_of(gateway: Gateway, who: Principal, agent: AgentRecord, session_id: str) -> SessionRecord:
    """Return a session of the caller with an agent. Raises UserError `session_not_found`."""
    session = await gateway.store.get_session(who.tenant, who.user, session_id)
    if session.agent_id != agent.id:
        raise UserError(
            "session_not_found",
            f"The agent {agent.name} has no session {session.id}.",
            {"session_id": session.id},
        )
    return session


async def begin_awaited_run(gateway: Gateway, who: Principal, given: Submission, after: int) -> AwaitedRun:
    """Submit a run; `after` is the session's last position. Raises what `Intake.accept` raises."""
    events = gateway.hub.subscribe(given.session_id, after, from_now=True)
    try:
        accepted = await gateway.intake.accept(who, given)
    except BaseException:
        events.close()
        raise
    if not accepted.repeated and accepted.session_id == given.session_id:
        return AwaitedRun(gateway, accepted.run_id, events)
    events.close()
    # Accepted earlier, or into an existing session: it may be running or ended.
    session = await gateway.store.get_session(who.tenant, who.user, accepted.session_id)
    run = await gateway.store.find_run(who.tenant, who.user, accepted.run_id)
    start = session.last_pos if run.status == "queued" else run.first_pos
    return AwaitedRun(gateway, run.run_id, gateway.hub.subscribe(session.id, start))


def check_success(info: RunInfo, fold: Fold) -> None:
    """Raise the error of a run that failed, with its ids."""
    if info.status not in ENDED or fold.error is None:
        return
    error = fold.error
    code = "internal_error" if not isinstance(error.code, str) else error.code
    kind = AgioError if code in _OURS else UserError if code in _LIMITS else ModelError
    raise kind(code, error.message, {"run_id": info.run_id, "session_id": info.session_id})
