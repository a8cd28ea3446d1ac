"""Agents of the OpenAI Agents SDK on a store, with the model of the test, as a worker assembles them."""

from collections.abc import Mapping, Sequence
from typing import Any

from agents import Agent

from agio import ResumeEntry, ScriptedDriver
from agio.core.engine.runner import AgentRunner, RunResult, RunStream
from agio.core.engine.team import Member
from agio.core.handoff import edges_of
from agio.core.run.fold import Fold, fold_log
from agio.core.run.session_history import session_history
from agio.core.run.spec import RunRequest
from agio.core.store.repository import Append, NewRun, TurnRecord
from agio.db.repository import Repository, open_store
from agio.drivers.scripted import Script
from agio.engines.openai_agents.agent import SdkAgent
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.codec import encode
from agio.protocol.events import AgentEvent
from agio.protocol.frames import Frame
from agio.protocol.messages import UserMessage

MODEL = "scripted:scripted"


class SdkScene:
    """An SDK agent, those that it uses, and what each one's model says, by the agent's name."""

    def __init__(
        self, store: Repository, agent: Agent[Any] | SdkAgent, scripts: Mapping[str, Script]
    ) -> None:
        self.store = store
        self.agent = agent if isinstance(agent, SdkAgent) else SdkAgent.of(agent)
        self.scripts = scripts
        self.drivers = {name: ScriptedDriver(turns) for name, turns in scripts.items()}

    def runner(self) -> AgentRunner:
        """Return the agent's runner."""
        team = self.agent.team()
        members = {name: self._member(each) for name, each in team.items()}
        own = members.pop(self.agent.spec.name)
        return AgentRunner(
            own.spec,
            own.driver,
            own.tools,
            self.store,
            edges=own.edges,
            team=members,
            engine=self.agent.engine(),
        )

    def _member(self, agent: SdkAgent) -> Member:
        name = agent.spec.name
        driver = agent.driver() or self.drivers.get(name) or ScriptedDriver([])
        executor = ToolExecutor(agent.tools, agent.spec.config, self.store)
        edges = edges_of([link for _, link in agent.links()], [tool.name for tool in agent.tools])
        return Member(agent.spec, driver, executor, edges=edges)

    async def begin(self, text: str = "", resume: Sequence[ResumeEntry] = ()) -> RunStream:
        """Start a run in the thread."""
        history = await session_history(self.store, "thr_1", enough=1000)
        messages = [UserMessage(id=f"usr_{len(history.messages)}", content=text)] if text else []
        request = RunRequest(session_id="thr_1", messages=messages, resume=resume, mark="m" * 16)
        return self.runner().run_stream(request, history)

    async def run(self, text: str = "", resume: Sequence[ResumeEntry] = ()) -> RunResult:
        """Run to the end."""
        return await (await self.begin(text, resume)).result()

    async def events(self, text: str = "", resume: Sequence[ResumeEntry] = ()) -> list[AgentEvent]:
        """Run to the end, and return the events."""
        return [event async for event in await self.begin(text, resume)]

    async def again(self, run_id: str) -> RunStream:
        """Claim a run and go on with it, as another process."""
        await self.store.claim_run(run_id)
        log = await self.store.get_log(run_id)
        history = Fold()
        for earlier in await self.store.history(log.info, 1000):
            fold_log(history, earlier)
        return self.runner().resume(log, history)

    async def stopped(
        self, run_id: str, events: Sequence[AgentEvent], turns: Sequence[TurnRecord]
    ) -> "SdkScene":
        """Return the scene in another process, after the one that had written this much of its first run died."""
        scene = SdkScene(await open_store(":memory:"), self.agent, self.scripts)
        await scene.store.create_run(
            NewRun(run_id, "thr_1", self.agent.spec.name, MODEL, "m" * 16, title="A")
        )
        payload = b"".join(encode(event) + b"\n" for event in events)
        seq = len(events)
        known = [turn for turn in turns if turn.seq <= seq]
        await scene.store.append(Append(Frame(run_id, 1, 1, seq, payload), known))
        return scene
