"""One job: a claimed run in this worker, from its start to its end or release."""

import asyncio
import logging

from agio.core.engine.runner import LET_GO, RunStream
from agio.core.file import FilePiece
from agio.core.link.link import Claim, Job, Link, ToolReply
from agio.core.run.closing import closing_frame
from agio.core.run.fold import Fold
from agio.core.store.repository import Append, Outcome, RunInfo, RunInput
from agio.core.tool import ToolContext
from agio.errors import AgioError, ToolError
from agio.protocol.messages import Json
from agio.worker.assembly import Parts, open_run
from agio.worker.outbox import Outbox

_log = logging.getLogger("agio.worker")

_AWAY = frozenset({"link_lost", "store_closed"})
"""Errors of a stopping gateway: the next claim settles the run."""


class RunningJob:
    """A running job: `run()` executes it; the other methods may be called meanwhile."""

    def __init__(self, job: Job, link: Link, parts: Parts) -> None:
        self.claim: Claim = job.claim
        self._job: Job | None = job
        self._link = link
        self._parts = parts
        self._outbox = Outbox(link, job.claim, self.cancel, self._stop)
        self._stream: RunStream | None = None
        self._inputs: list[RunInput] = []
        """The user's messages that wait for the run to be assembled."""
        self._cancelled = False
        self._stopped = False
        self._stopping: asyncio.Task[None] | None = None
        self._calls: dict[str, ToolContext] = {}
        """The calls that are under way at the gateway."""

    async def run(self) -> None:
        """Execute the run to its end. Release it if it cannot end here. Raises nothing."""
        try:
            await self._drive()
        except AgioError as error:
            if error.code not in LET_GO:
                _log.warning("run %s is released: %s", self.claim.run_id, error)
        except Exception:
            _log.exception("run %s is released", self.claim.run_id)
        if not self._outbox.ended and not self._outbox.lost:
            await self._give_back()
        # Break the reference cycle.
        self._stream = None
        self._outbox.forget()

    def cancel(self) -> None:
        """Cancel the run: its log ends with the outcome `cancelled`."""
        self._cancelled = True
        if self._stream is not None:
            self._stream.cancel()

    def give(self, inputs: list[RunInput]) -> None:
        """Give the run messages that arrived after it began."""
        if self._stream is None:
            self._inputs += inputs
        else:
            self._stream.give(inputs)

    def drop(self) -> None:
        """Drop the run without an answer: the gateway has given it to another worker, or deleted it."""
        self._outbox.lost = True
        self._stop()

    def release(self, *, at_rest: bool) -> None:
        """Release the run: after the current turn, or now."""
        if at_rest and self._stream is not None:
            self._outbox.on_rest = self._stop
        else:
            self._stop()

    async def call_tool(self, context: ToolContext, tool: str, arguments: dict[str, Json]) -> ToolReply:
        """Call a tool at the gateway. Raises ToolError when that must end the run."""
        link, claim, key = self._link, self.claim, context.call_id
        self._calls[key] = context
        try:
            return await self._outbox.persist(
                lambda: link.call_tool(claim, key, tool, arguments, context.lane, context.agent)
            )
        except ToolError:
            raise
        except AgioError as error:
            self._refused(error)
            raise ToolError(error.code, error.message, error.details) from error
        finally:
            self._calls.pop(key, None)

    def report(self, key: str, progress: Json) -> None:
        """Report the progress of a call at the gateway, while it is under way."""
        if (context := self._calls.get(key)) is not None:
            context.report(progress)

    async def read_file(self, file_id: str, idx: int) -> FilePiece:
        """Read one piece of a session's file. Raises UserError `file_not_found`."""
        link, claim = self._link, self.claim
        try:
            return await self._outbox.persist(lambda: link.read_file(claim, file_id, idx))
        except AgioError as error:
            self._refused(error)
            raise

    def _refused(self, error: AgioError) -> None:
        """Stop if the claim is no longer valid."""
        if error.code in LET_GO:
            self.drop()
        elif error.code in _AWAY:
            self._stop()

    def _stop(self) -> None:
        if self._stopped or self._outbox.ended:
            return
        self._stopped = True
        if self._stream is not None:
            self._stopping = asyncio.create_task(self._stream.abandon())

    async def _drive(self) -> None:
        job, self._job = self._job, None
        if self._stopped or job is None:
            return
        try:
            stream = await open_run(job, self._outbox, self._parts, self.read_file)
        except AgioError as error:
            await self._end_failed(job.log.info, error)
            return
        if self._stopped:
            return
        del job  # free the encoded history
        self._stream = stream
        stream.give(self._inputs)
        if self._cancelled:
            stream.cancel()
        await stream.drive()

    async def _end_failed(self, info: RunInfo, error: AgioError) -> None:
        """End a run whose log cannot be read, so that it does not hang."""
        if error.code == "run_ended":
            self._outbox.lost = True
            return
        fold = Fold()
        fold.run_id, fold.session_id, fold.seq = info.run_id, info.session_id, info.last_seq
        frame = closing_frame(fold, self.claim.epoch, error)
        await self._outbox.append(
            Append(
                frame,
                end="failed",
                error_code=error.code,
                error_message=error.message,
                outcome=Outcome(),
            )
        )

    async def _give_back(self) -> None:
        """Release the run, even late: the gateway waits for this worker while the claim is valid."""
        try:
            await self._outbox.persist(lambda: self._link.release(self.claim))
        except AgioError as error:
            if not self._outbox.lost:
                _log.warning("run %s could not be released: %s", self.claim.run_id, error)
