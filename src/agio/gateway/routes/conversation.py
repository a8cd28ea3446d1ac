"""A session's conversation so far: its stored messages, and those a run that is going on has finished."""

import msgspec
from msgspec import Raw, Struct

from agio.core.fold import Fold, fold_log
from agio.core.records import SessionRecord
from agio.core.repository import RunLog
from agio.core.store import Store
from agio.gateway.routes.rendering import message_view
from agio.gateway.routes.views import MessageView
from agio.protocol.codec import encode
from agio.protocol.messages import Message

_decode = msgspec.json.Decoder(Message).decode


class Conversation(Struct, frozen=True):
    """A page of messages; `stream_after` is on the last: a stream after it brings what they do not hold."""

    messages: list[MessageView]
    next: str | None
    previous: str | None
    stream_after: int | None


class Part(Struct, frozen=True):
    """Which page is asked for: from the beginning or after a cursor; the last, or the one before a cursor."""

    after: str | None = None
    before: str | None = None
    tail: bool = False
    limit: int = 200


async def conversation(store: Store, session: SessionRecord, part: Part) -> Conversation:
    """Read a page of a session's messages.

    The session was read before, so a run that ended meanwhile is told twice rather than not at all: here and
    in the stream, where a client knows its messages by their ids.
    """
    place = (session.tenant, session.user, session.id)
    if part.tail or part.before is not None:
        page = await store.last_messages(*place, before=part.before, limit=part.limit)
    else:
        page = await store.list_messages(*place, after=part.after, limit=part.limit)
    messages = [message_view(record) for record in page.items]
    if page.next is not None or part.before is not None:
        return Conversation(messages, page.next, page.previous, None)
    if session.state != "running" or session.last_run_id is None:
        return Conversation(messages, None, page.previous, session.last_pos)
    log = await store.get_log(session.last_run_id)
    return _with_run(messages, page.previous, log)


def _with_run(stored: list[MessageView], previous: str | None, log: RunLog) -> Conversation:
    """Add what the run has finished, before the messages that wait in the queue behind it."""
    run = log.info
    waiting = next(
        (at for at, shown in enumerate(stored) if shown.pos is None and shown.run_id != run.run_id),
        len(stored),
    )
    before = [shown for shown in stored[:waiting] if shown.run_id != run.run_id]
    fold = fold_log(Fold([_decode(shown.message) for shown in before]), log)
    known = {shown.id for shown in stored}
    if fold.input is not None:  # what it was given is stored, on this page or on one before
        known.update(message.id for message in fold.input.messages)
    added = [
        MessageView(
            id=message.id,
            run_id=run.run_id,
            role=message.role,
            created_at=run.started_at or run.created_at,
            pos=None,
            message=Raw(encode(message)),
        )
        for message in fold.kept
        if message.id not in known
    ]
    seq = fold.seq if fold.draft is None else fold.draft.from_seq
    messages = [*stored[:waiting], *added, *stored[waiting:]]
    return Conversation(messages, None, previous, run.first_pos + seq)
