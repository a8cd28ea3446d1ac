"""A server's agents by name, and its runs with their logs."""

from agio.cli.client.server_client import ServerClient
from agio.core.store.repository import RunInfo, RunLog
from agio.errors import UserError
from agio.gateway.routes.agents.views import Agents, AgentView
from agio.gateway.routes.runs.views import Runs, RunView

_PAGE = 100


async def find_agent(server: ServerClient, name: str | None) -> AgentView:
    """Find an agent by its name; without one, the only one there is. Raises UserError `agent_not_found`."""
    found = [agent for agent in await all_agents(server) if agent.status == "active"]
    fitting = [agent for agent in found if name in (None, agent.name, agent.id)]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(agent.name for agent in found) or "none"
    problem = "Choose an agent with --agent NAME." if name is None else f"There is no agent {name!r}."
    raise UserError("agent_not_found", f"{problem} The server has: {names}.")


async def all_agents(server: ServerClient) -> list[AgentView]:
    """Return every agent of the server. Raises AgioError."""
    agents: list[AgentView] = []
    after: str | None = None
    while True:
        page = await server.get("/api/agents", Agents, after=after, limit=_PAGE)
        agents += page.items
        after = page.next
        if after is None:
            return agents


class RemoteRuns:
    """The runs of a server as `agio runs` reads them."""

    def __init__(self, server: ServerClient) -> None:
        self._server = server

    async def list_runs(
        self,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[RunInfo]:
        """Runs, newest first; `before` is the last run id of the page before. Raises AgioError."""
        agents = [] if agent is None else await all_agents(self._server)
        agent_ids = [entry.id for entry in agents if entry.name == agent]
        if agent is not None and not agent_ids:
            return []
        runs: list[RunInfo] = []
        skipping, after = before is not None, None
        while len(runs) < limit:
            page = await self._server.get(
                "/api/runs",
                Runs,
                session_id=session_id,
                agent_id=agent_ids[0] if agent_ids else None,
                copies="true",
                after=after,
                limit=_PAGE,
            )
            for view in page.items:
                if not skipping:
                    runs.append(_info_of(view))
                skipping = skipping and view.id != before
            after = page.next
            if after is None:
                break
        return runs[:limit]

    async def get_log(self, run_id: str) -> RunLog:
        """A run and its events as they were streamed. Raises AgioError."""
        info = _info_of(await self._server.get(f"/api/runs/{run_id}", RunView))
        return RunLog(info, await self._server.read(f"/api/runs/{run_id}/events"))


def _info_of(run: RunView) -> RunInfo:
    return RunInfo(
        run_id=run.id,
        session_id=run.session_id,
        agent=run.agent_name,
        model=run.model,
        status=run.status,
        epoch=run.epoch,
        last_seq=run.last_seq,
        created_at=run.created_at,
        ended_at=run.ended_at,
        mark="",
        tenant="",
        user="",
        first_pos=run.first_pos,
        error_code=run.error_code,
        error_message=run.error_message,
        title=run.title,
        agent_id=run.agent_id,
        started_at=run.started_at,
        goal_met=run.goal_met,
        copied_from=run.copied_from,
        parent_run_id=run.parent_run_id,
        branched=run.branched,
    )
