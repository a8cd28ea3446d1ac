"""A conversation in one thread: runs are played one after the other, questions in between are answered."""

import asyncio
import signal
from collections.abc import Callable, Sequence

from agio.cli.prompt import quiet_keys
from agio.cli.render import EventRenderer
from agio.core.fold import Fold
from agio.core.repository import RunInfo, RunStatus
from agio.core.thread import thread_history
from agio.library import Agent, Run
from agio.protocol.events import Interrupt
from agio.protocol.ids import new_id
from agio.protocol.messages import ResumeEntry

FRAME_S = 1 / 15
"""The time between two drawings of a run."""


class Session:
    """Plays the runs of an agent on a stage. One event loop for all of them, at rest between two."""

    def __init__(
        self,
        agent: Agent,
        renderer: EventRenderer,
        loop: asyncio.Runner,
        thread_id: str | None,
        decide: Callable[[Sequence[Interrupt]], list[ResumeEntry] | None],
    ) -> None:
        self.agent = agent
        self.renderer = renderer
        self.thread_id = thread_id or new_id("thr")
        self.spoken = False
        """Whether the thread has a run."""
        self._loop = loop
        self._decide = decide

    def new_thread(self) -> None:
        """Begin another conversation."""
        self.thread_id, self.spoken = new_id("thr"), False

    def runs(self) -> list[RunInfo]:
        """Return the newest runs of this thread. Raises StoreError."""
        return self._loop.run(self._runs())

    def say(self, message: str) -> RunStatus:
        """Play the run that answers a message, and those that follow from its questions. Raises AgioError."""
        return self._play_on(self.agent.arun_stream(message, thread_id=self.thread_id))

    def take_up(self) -> RunStatus | None:
        """Go on where the thread stopped: with a run nobody finished, or with its open questions."""
        newest = self.runs()
        self.spoken = bool(newest)
        if not newest or newest[0].status not in ("running", "interrupted"):
            return None
        fold = self._loop.run(self._fold())
        self.renderer.expect(fold.pending, fold.interrupts.values())
        if newest[0].status == "running":
            stage = self.renderer.stage
            stage.remark("warning", f"Run {newest[0].run_id} was left unfinished; it goes on now.")
            stage.settle()
            return self._play_on(self.agent.resume_run(newest[0].run_id))
        waiting = {call.id for call in fold.pending}
        open_questions = [entry for entry in fold.interrupts.values() if entry.tool_call_id in waiting]
        for call in fold.pending:
            self.renderer.stage.call(self.renderer.cards[call.id])
        self.renderer.stage.settle()
        entries = self._decide(open_questions) if open_questions else None
        return self._play_on(self._answer(entries)) if entries else None

    def _play_on(self, run: Run) -> RunStatus:
        while True:
            status, interrupts = self._loop.run(self._play(run))
            entries = self._decide(interrupts) if interrupts else None
            if not entries:
                return status
            run = self._answer(entries)

    def _answer(self, entries: Sequence[ResumeEntry]) -> Run:
        return self.agent.arun_stream(thread_id=self.thread_id, resume=entries)

    async def _play(self, run: Run) -> tuple[RunStatus, list[Interrupt]]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, run.cancel)
        ticker = asyncio.create_task(self._tick())
        try:
            with quiet_keys():
                async with run:
                    async for event in run:
                        self.spoken = True
                        self.renderer.show(event)
                    result = await run.result()
            return result.status, result.interrupts
        finally:
            ticker.cancel()
            self.renderer.stage.close()
            loop.remove_signal_handler(signal.SIGINT)

    async def _tick(self) -> None:
        while True:
            self.renderer.stage.tick()
            await asyncio.sleep(FRAME_S)

    async def _runs(self) -> list[RunInfo]:
        repository = await self.agent.repository()
        return await repository.list_runs(thread_id=self.thread_id, limit=20)

    async def _fold(self) -> Fold:
        return await thread_history(await self.agent.repository(), self.thread_id)
