"""Runs of an agent on a server, for `agio chat --server`."""

from collections.abc import Sequence

from agio.cli.chat.remote_run import Place, RealtimeSocket, RemoteRun
from agio.cli.chat.session import Playable, Unfinished
from agio.cli.client.remote_runs import RemoteRuns
from agio.cli.client.server_client import ServerClient
from agio.core.store.repository import RunInfo
from agio.core.tool import INPUT_REQUIRED, InputQuestion
from agio.gateway.routes.runs.views import RunView
from agio.gateway.routes.sessions.views import InterruptView, Sent, SessionStatus, SessionView
from agio.protocol.commands import SendMessage
from agio.protocol.events import Interrupt
from agio.protocol.ids import new_id
from agio.protocol.messages import FunctionCall, ResumeEntry, ToolCall, json_object


class RemoteSource:
    """An agent's runs in one session of a server."""

    def __init__(self, server: ServerClient, agent_id: str, session: SessionView | None) -> None:
        self._server = server
        self._agent_id = agent_id
        self._place = Place() if session is None else Place(session.id, session.last_pos)

    @property
    def session_id(self) -> str:
        """The session, empty before the first message."""
        return self._place.session_id

    def new_thread(self) -> None:
        """Start another conversation."""
        self._place = Place()

    def say(self, message: str) -> Playable:
        """A run that answers a message. The first message creates the session."""
        place, name = self._place, new_id("msg")

        async def begin(socket: RealtimeSocket) -> str:
            if not place.session_id:
                path = f"/api/agents/{self._agent_id}/sessions"
                place.session_id = (await self._server.post(path, {}, SessionView)).id
            command = SendMessage(
                id=new_id("cmd"), session_id=place.session_id, content=message, client_message_id=name
            )
            return (await socket.ask(command)).run_id or ""

        return RemoteRun(self._server, place, begin)

    async def answer(self, entries: Sequence[ResumeEntry]) -> Playable:
        """A run that continues with the answers. The server checks them when it begins."""
        place, name = self._place, new_id("msg")
        answers = [_answer_of(entry) for entry in entries]

        async def begin(_: RealtimeSocket) -> str:
            path = f"/api/agent-sessions/{place.session_id}/answer"
            return (await self._server.post(path, {"answers": answers}, Sent, name)).run_id

        return RemoteRun(self._server, place, begin)

    async def runs(self) -> list[RunInfo]:
        """The newest runs of the session. Raises AgioError."""
        return await RemoteRuns(self._server).list_runs(session_id=self.session_id, limit=20)

    async def unfinished(self) -> Unfinished:
        """The session's running run or open questions. Raises AgioError."""
        status = await self._server.get(f"/api/agent-sessions/{self.session_id}/status", SessionStatus)
        if status.state == "waiting":
            calls = [_call_of(entry) for entry in reversed(status.interrupts)]
            questions = [_question_of(entry) for entry in reversed(status.interrupts)]
            return Unfinished(calls=calls, questions=questions)
        if status.state == "running" and status.run_id is not None:
            run = await self._server.get(f"/api/runs/{status.run_id}", RunView)
            return Unfinished(self._watch(run), f"Run {run.id} is still running. Showing it from the start.")
        return Unfinished()

    async def aclose(self) -> None:
        """Nothing to close: no connection is kept between runs."""

    def _watch(self, run: RunView) -> Playable:
        async def begin(_: RealtimeSocket) -> str:
            return run.id

        self._place.pos = run.first_pos
        return RemoteRun(self._server, self._place, begin)


def _call_of(entry: InterruptView) -> ToolCall:
    return ToolCall(entry.tool_call_id, FunctionCall(entry.tool, entry.arguments))


def _question_of(entry: InterruptView) -> Interrupt:
    asked = Interrupt(entry.id, entry.reason, tool_call_id=entry.tool_call_id, message=entry.message)
    if entry.reason == INPUT_REQUIRED:
        asked.response_schema = InputQuestion(entry.message, entry.form).response_schema
        asked.metadata = {"url": entry.url}
    return asked


def _answer_of(entry: ResumeEntry) -> dict[str, object]:
    said = json_object(entry.payload)
    answer: dict[str, object] = {"interrupt_id": entry.interrupt_id, "approved": said.get("approved") is True}
    if said.get("reason"):
        answer["reason"] = said["reason"]
    if said.get("editedArgs") is not None:
        answer["edited_args"] = said["editedArgs"]
    if said.get("content") is not None:
        answer["content"] = said["content"]
    return answer
