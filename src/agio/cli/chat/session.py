"""A conversation in one thread: runs are played one after the other, and their questions are answered.

The runs come from a `Source`: an agent in this process (cli/chat/local.py) or a server (cli/chat/remote.py).
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from msgspec import Struct, field

from agio.cli.terminal.prompt import quiet_keys
from agio.cli.terminal.render import EventRenderer
from agio.core.run.answers import edited_arguments
from agio.core.store.repository import RunInfo, RunStatus
from agio.errors import AgioError
from agio.protocol.events import AgentEvent, Interrupt
from agio.protocol.messages import ResumeEntry, ToolCall

FRAME_S = 1 / 15
"""The time between two drawings of a run."""


class Playable(Protocol):
    """A run to be watched."""

    def __aiter__(self) -> AsyncIterator[AgentEvent]: ...

    def cancel(self) -> None:
        """End the run soon."""
        ...

    async def aclose(self) -> None:
        """Stop watching, and close the connection."""
        ...


class Unfinished(Struct, frozen=True):
    """A thread's running run, or its waiting calls and the questions about them."""

    run: Playable | None = None
    remark: str = ""
    """A line to print before the run continues."""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    questions: list[Interrupt] = field(default_factory=list[Interrupt])


class Source(Protocol):
    """Runs of one thread at a time."""

    @property
    def session_id(self) -> str:
        """The thread, empty while it is new and has no name yet."""
        ...

    def new_thread(self) -> None:
        """Start another conversation."""
        ...

    def say(self, message: str) -> Playable:
        """A run that answers a message."""
        ...

    async def answer(self, entries: Sequence[ResumeEntry]) -> Playable:
        """A run that continues with the answers.

        It, or the run when it begins, raises AgioError `invalid_answer` while the questions are still open.
        """
        ...

    async def runs(self) -> list[RunInfo]:
        """The newest runs of the thread, newest first. Raises AgioError."""
        ...

    async def unfinished(self) -> Unfinished:
        """The thread's unfinished run or open questions. Raises AgioError."""
        ...

    async def aclose(self) -> None:
        """Close the source."""
        ...


class Session:
    """Plays the runs of a source on a stage. One event loop for all of them, at rest between two."""

    def __init__(
        self,
        source: Source,
        renderer: EventRenderer,
        loop: asyncio.Runner,
        decide: Callable[[Sequence[Interrupt]], list[ResumeEntry] | None],
    ) -> None:
        self.renderer = renderer
        self.spoken = False
        """Whether the thread has a run."""
        self._source = source
        self._loop = loop
        self._decide = decide

    @property
    def session_id(self) -> str:
        """The thread of the conversation, empty while it is new and has no name yet."""
        return self._source.session_id

    def new_thread(self) -> None:
        """Start another conversation."""
        self._source.new_thread()
        self.spoken = False

    def runs(self) -> list[RunInfo]:
        """Return the newest runs of this thread. Raises AgioError."""
        return self._loop.run(self._source.runs()) if self.session_id else []

    def say(self, message: str) -> RunStatus:
        """Play the run that answers a message, and those that follow from its questions. Raises AgioError."""
        return self._play_on(self._source.say(message))

    def take_up(self) -> RunStatus | None:
        """Continue the thread: its unfinished run, or its open questions."""
        self.spoken = bool(self.runs())
        if not self.spoken:
            return None
        rest = self._loop.run(self._source.unfinished())
        self.renderer.expect(rest.calls, rest.questions)
        stage = self.renderer.stage
        if rest.run is not None:
            stage.remark("warning", rest.remark)
            stage.settle()
            return self._play_on(rest.run)
        for call in rest.calls:
            stage.call(self.renderer.cards[call.id])
        stage.settle()
        return self._answer_on() if self._answer(rest.questions) else None

    def _play_on(self, run: Playable) -> RunStatus:
        self._loop.run(self._play(run))
        return self._answer_on()

    def _answer_on(self) -> RunStatus:
        while self._answer(self.renderer.questions):
            pass
        ending = self.renderer.ending
        return "running" if ending is None else ending.status

    def _answer(self, questions: Sequence[Interrupt]) -> bool:
        """Ask, and play the run that the answers begin; False if there is no question, or it stays open.

        Arguments that do not fit the tool are asked for again.
        """
        while entries := self._decide(questions) if questions else None:
            try:
                self._loop.run(self._play(self._loop.run(self._source.answer(entries))))
                return True
            except AgioError as error:
                if error.code != "invalid_answer" or not any(map(edited_arguments, entries)):
                    raise
                self.renderer.stage.remark("warning", error.message)
                self.renderer.stage.settle()
        return False

    async def _play(self, run: Playable) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, run.cancel)
        ticker = asyncio.create_task(self._tick())
        try:
            with quiet_keys():
                async for event in run:
                    self.spoken = True
                    self.renderer.show(event)
        finally:
            ticker.cancel()
            self.renderer.stage.close()
            loop.remove_signal_handler(signal.SIGINT)
            await run.aclose()

    async def _tick(self) -> None:
        while True:
            self.renderer.stage.tick()
            await asyncio.sleep(FRAME_S)
