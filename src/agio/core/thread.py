"""A thread's history, read from the store."""

from agio.core.fold import Fold, fold_log
from agio.core.repository import AgentRunRepository, RunInfo

_PAGE = 100


async def thread_history(repository: AgentRunRepository, thread_id: str, until: str | None = None) -> Fold:
    """Fold the runs of a thread, oldest first, up to the run `until`, which is left out."""
    runs: list[RunInfo] = []
    before = until
    while page := await repository.list_runs(thread_id=thread_id, before=before, limit=_PAGE):
        runs += page
        before = page[-1].run_id
    fold = Fold()
    for info in reversed(runs):
        fold_log(fold, await repository.get_log(info.run_id))
    return fold
