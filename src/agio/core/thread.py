"""A thread's history, read from the store."""

from agio.core.fold import Fold, fold_log
from agio.core.repository import AgentRunRepository, RunLog

_PAGE = 100
_STEP = b'"type":"STEP_STARTED"'


async def thread_history(
    repository: AgentRunRepository, thread_id: str, until: str | None = None, enough: int | None = None
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
