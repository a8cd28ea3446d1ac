"""Parents that clients name: a message may continue any run of its session that has ended with nothing pending."""

from agio.core.store.repository import ENDED, RunInfo
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.runs.arrivals import Arrival
from agio.db.records import decode_names, run_info
from agio.db.refusals import message_not_found
from agio.db.rows import MessageRow, as_row
from agio.errors import UserError


def choose_parent(sent: Arrival) -> Plan[str | None]:
    """The run that a message continues: "" for none, None for the session's leaf.

    Raises UserError `parent_not_found`, `parent_not_ended`, `parent_pending`, `message_not_found`.
    """
    parent, copied = sent.given.parent_run_id, None
    if sent.given.copy_of is not None:
        copied = yield from _run_of_message(sent, sent.given.copy_of)
        if parent is None:
            parent = copied.parent_run_id or ""
    if not parent:
        return parent
    row = yield from ask_one("find_run", tenant=sent.tenant, user_id=sent.user, run_id=parent)
    run = None if row is None else run_info(row)
    details = {"run_id": parent}
    if run is None or run.session_id != sent.given.session_id:
        raise UserError("parent_not_found", f"This session has no run {parent}.", details)
    if run.status not in ENDED:
        raise UserError(
            "parent_not_ended", f"Run {parent} has not ended. Wait for it, or cancel it.", details
        )
    is_asking = any(asked_by == parent for _, _, asked_by in (yield from _open_questions(sent)))
    # A message that was sent there before dropped what was pending; one that replaces it does the same.
    repeats = copied is not None and copied.parent_run_id == parent
    if is_asking or (not repeats and (yield from _is_pending(run))):
        raise UserError(
            "parent_pending",
            f"Run {parent} ended with questions or calls that its continuation must answer. "
            "Answer them, or continue the run before it.",
            {**details, "before": run.parent_run_id},
        )
    return parent


def _run_of_message(sent: Arrival, message_id: str) -> Plan[RunInfo]:
    """The run that a message of the user's began."""
    row = yield from ask_one("find_messages", ids=[message_id], **sent.place)
    message = None if row is None else as_row(MessageRow, row)
    if message is None or message.role != "user":
        raise message_not_found(message_id)
    found = yield from ask_one("find_run", tenant=sent.tenant, user_id=sent.user, run_id=message.run_id)
    run = None if found is None else run_info(found)
    if run is None or (message.pos is not None and message.pos != run.first_pos + 1):
        raise message_not_found(message_id)
    if run.status == "queued":
        raise UserError(
            "parent_not_ended", "The message's run has not begun. Cancel it first.", {"run_id": run.run_id}
        )
    return run


def _open_questions(sent: Arrival) -> Plan[list[tuple[object, object, object]]]:
    rows = yield from ask("open_interrupts", session_id=sent.given.session_id)
    return [(asked, until, by) for asked, until, by in rows]


def _is_pending(run: RunInfo) -> Plan[bool]:
    if run.status == "interrupted":
        return True
    row = yield from ask_one("pending_of_run", run_id=run.run_id)
    return row is not None and bool(decode_names(str(row[0])))
