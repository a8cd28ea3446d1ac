"""The history of a session, folded from the logs of its runs."""

from typing import Protocol

from agio.core.run.fold import Fold, fold_log
from agio.core.store.repository import RunInfo, RunLog

_PAGE = 100
_STEP = b'"type":"STEP_STARTED"'


class RunLogs(Protocol):
    """A source of runs and their logs: a repository, or a client of a server."""

    async def list_runs(
        self,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[RunInfo]:
        """Return a page of runs, newest first. `before` is the last run id of the previous page."""
        ...

    async def get_log(self, run_id: str) -> RunLog:
        """Return a run's log. Raises UserError `run_not_found`."""
        ...


async def session_history(
    repository: RunLogs, session_id: str, until: RunInfo | None = None, enough: int | None = None
) -> Fold:
    """Fold the runs of the path to a session's newest run, oldest first; with `until`, up to and excluding that run.

    With `enough`, fold only the newest runs that together hold more than that many messages, so that the cost
    does not grow with the session.
    """
    logs: list[RunLog] = []
    messages = 0
    before, below = (None, None) if until is None else (until.run_id, until)
    while (enough is None or messages <= enough) and (
        page := await repository.list_runs(session_id=session_id, before=before, limit=_PAGE)
    ):
        for info in page:
            if below is not None and below.branched and info.run_id != below.parent_run_id:
                continue  # a run of another branch
            below = info
            log = await repository.get_log(info.run_id)
            logs.append(log)
            messages += 1 + log.payload.count(_STEP)
            if enough is not None and messages > enough:
                break
        before = page[-1].run_id
    fold = Fold()
    for log in reversed(logs):
        fold_log(fold, log)
    return fold
