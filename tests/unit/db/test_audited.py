"""What is audited is a list, and so is what is not."""

import inspect
import re

from agio.db import repository
from agio.db.audited import AUDITED

NOT_AUDITED = {
    "messages, runs and what they do have a log of their own": (
        "create_run claim_run begin_tool end_tool _take_in claim_next reclaim give_back request_cancel end_tool_request"
    ),
    "people's own sessions, profiles and drafts, and agents that a session was begun with": (
        "start_session update_session close_session put_profile write_draft delete_draft change_suggestion "
        "start_inline_session change_inline_agent"
    ),
    "part of a start, or of something that is audited": (
        "add_tenant add_user put_code_agents take_sign_in_link add_sign_in_flow take_sign_in_flow "
        "refresh_web_session put_mcp_client library_agent"
    ),
    "what is over": "sweep expire_interrupts",
    "what the server does by itself": (
        "add_job arm_job claim_job renew_job finish_job finish_retention fail_job release_job bury_unknown_jobs "
        "acquire_lease renew_lease release_lease see_mcp_tools renew_mcp_connection suggest_memory new_suggestions "
        "use_memories keep_extraction spend_extraction put_passages put_vectors drop_version number_passages "
        "put_version_bytes note_progress put_document_passages publish_version end_ingestion put_file_text"
    ),
}
"""Methods that change something and leave no entry, and why."""


def mounted() -> dict[str, str]:
    """The methods that change something, with the action they are audited as."""
    source = inspect.getsource(repository)
    found = re.findall(r'    (\w+) = _write\(\s*[\w.]+(?:,\s*audit="([\w.]+)")?\s*\)', source)
    assert len(found) == source.count(" = _write(")
    return dict(found)


def test_every_change_is_audited_or_it_is_said_why_not() -> None:
    """B11: a method that is added must be decided about."""
    unaudited = {name for name, action in mounted().items() if not action}
    excused = {name for names in NOT_AUDITED.values() for name in names.split()}
    assert unaudited == excused


def test_every_way_to_tell_is_used() -> None:
    """B11: the list says what there is."""
    assert set(mounted().values()) - {""} == set(AUDITED) - {"session.expire"}
