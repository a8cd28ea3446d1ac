"""A thread's history, read from the store."""

from typing import Protocol

from agio.core.run.fold import Fold, fold_log
from agio.core.store.repository import RunInfo, RunLog

_PAGE = 100
_STEP = b'"type":"STEP_STARTED"'


class RunLogs(Protocol):
    """Whoever has runs and their logs: every repository, and a server that is asked for them."""

    async def list_runs(
        self,
        *,
        thread_id: str | None = None,
        agent: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[RunInfo]:
        """Runs, newest first; `before` is the last run id of the page before."""
        ...

    async def get_log(self, run_id: str) -> RunLog:
        """A run's log. Raises UserError `run_not_found`."""
        ...


async def thread_history(
    repository: RunLogs, thread_id: str, until: str | None = None, enough: int | None = None
) -> Fold:
    """Fold the runs of a thread, oldest first, up to the run `until`, which is left out.

    With `enough`, only the newest runs that have at least so many messages: a long thread costs no more
    than what is used of it.
    """
    logs: list[RunLog] = []
    messages = 0
    before = until
    while (enough is None or messages <= enough) and (
        page := await repository.list_runs(thread_id=thread_id, before=before, limit=_PAGE)
    ):
        for info in page:
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
