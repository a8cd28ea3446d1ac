"""Search results: the message and the excerpt in which a session has the search text."""

from collections.abc import Sequence

import msgspec

from agio.core.store.records import FoundMessage
from agio.db.plan import Plan, ask
from agio.db.search.excerpt import AROUND, excerpt
from agio.db.search.message_text import fold_case


def needle_of(search: str | None) -> str | None:
    """The search text, case-folded; None without a search."""
    return fold_case(search) if search else None


def find_places(
    tenant: str, user: str, session_ids: Sequence[str], needle: str
) -> Plan[dict[str, FoundMessage]]:
    """The newest matching message of each session, by session."""
    rows = yield from ask(
        "find_places",
        tenant=tenant,
        user_id=user,
        session_ids=list(session_ids),
        needle=needle,
        around=AROUND,
        span=2 * AROUND + len(needle),
    )
    places: dict[str, FoundMessage] = {}
    for row in rows:
        found = msgspec.convert(row, tuple[str, str, str, int, int, str])
        session_id, message_id, run_id, at, chars, text = found
        skipped = max(at - AROUND, 1) - 1
        goes_on = (skipped > 0, skipped + len(text) < chars)
        cut = excerpt(text, at - 1 - skipped, len(needle), goes_on=goes_on)
        places[session_id] = FoundMessage(
            message_id=message_id, run_id=run_id, before=cut.before, match=cut.match, after=cut.after
        )
    return places
