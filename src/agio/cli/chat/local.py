"""Runs of an agent in this process, for `agio chat` without a server."""

from collections.abc import Sequence

from agio.cli.chat.session import Playable, Unfinished
from agio.core.run.answers import check_edit, edited_arguments
from agio.core.run.session_history import session_history
from agio.core.schema.schema import validator
from agio.core.store.repository import RunInfo
from agio.library import Agent
from agio.protocol.ids import new_id
from agio.protocol.messages import ResumeEntry


class LocalSource:
    """An agent's runs in one thread."""

    def __init__(self, agent: Agent, session_id: str | None) -> None:
        self.session_id = session_id or new_id("thr")
        self._agent = agent

    def new_thread(self) -> None:
        """Start another conversation."""
        self.session_id = new_id("thr")

    def say(self, message: str) -> Playable:
        """A run that answers a message."""
        return self._agent.arun_stream(message, thread_id=self.session_id)

    async def answer(self, entries: Sequence[ResumeEntry]) -> Playable:
        """A run that continues with the answers. Raises UserError `invalid_answer`, StoreError."""
        fold = await session_history(await self._agent.repository(), self.session_id)
        names = {call.id: call.function.name for call in fold.open_calls}
        tools = {tool.name: tool for tool in self._agent.tools}
        for entry in entries:
            question, edited = fold.interrupts.get(entry.interrupt_id), edited_arguments(entry)
            tool = tools.get(names.get(question.tool_call_id or "", "")) if question is not None else None
            if edited is not None and tool is not None:
                check_edit(entry.interrupt_id, tool.name, validator(tool.parameters, tool.name)(edited))
        return self._agent.arun_stream(thread_id=self.session_id, resume=entries)

    async def runs(self) -> list[RunInfo]:
        """The newest runs of the thread. Raises StoreError."""
        repository = await self._agent.repository()
        return await repository.list_runs(session_id=self.session_id, limit=20)

    async def unfinished(self) -> Unfinished:
        """The thread's unfinished run or open questions. Raises StoreError."""
        newest = (await self.runs())[0]
        if newest.status not in ("running", "interrupted"):
            return Unfinished()
        fold = await session_history(await self._agent.repository(), self.session_id)
        waiting = {call.id for call in fold.open_calls}
        questions = [entry for entry in fold.interrupts.values() if entry.tool_call_id in waiting]
        if newest.status == "interrupted":
            return Unfinished(calls=fold.open_calls, questions=questions)
        remark = f"Run {newest.run_id} was left unfinished. Continuing it."
        run = self._agent.resume_run(newest.run_id)
        return Unfinished(run, remark, fold.open_calls, list(fold.interrupts.values()))

    async def aclose(self) -> None:
        """Close the agent."""
        await self._agent.aclose()
