"""Finds runs by what a person types."""

from agio.core.run.session_history import RunLogs
from agio.core.store.repository import RunInfo
from agio.errors import UserError

_PAGE = 100
LAST = "last"
"""The name of the newest run."""


async def find_run(repository: RunLogs, name: str) -> RunInfo:
    """Find a run by its id, the beginning or the end of it, or `last`.

    Raises UserError `run_not_found` or `run_ambiguous`.
    """
    found: list[RunInfo] = []
    before: str | None = None
    while page := await repository.list_runs(before=before, limit=_PAGE):
        if name == LAST:
            return page[0]
        found += [info for info in page if _fits(info.run_id, name)]
        if any(info.run_id == name for info in page):
            return next(info for info in page if info.run_id == name)
        before = page[-1].run_id
    if len(found) == 1:
        return found[0]
    if not found:
        raise UserError("run_not_found", f"There is no run {name}. List the runs: agio runs list")
    some = ", ".join(info.run_id for info in found[:3])
    raise UserError("run_ambiguous", f"{len(found)} runs match {name}: {some}... Type more of the id.")


def _fits(run_id: str, name: str) -> bool:
    return bool(name) and (
        run_id.startswith((name, f"run_{name}")) or (len(name) >= 4 and run_id.endswith(name))
    )
