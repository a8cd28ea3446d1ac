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
    stream_after: int | None


async def conversation(store: Store, session: SessionRecord, after: str | None, limit: int) -> Conversation:
    """Read a page of a session's messages.

    The session was read before, so a run that ended meanwhile is told twice rather than not at all: here and
    in the stream, where a client knows its messages by their ids.
    """
    page = await store.list_messages(session.tenant, session.user, session.id, after=after, limit=limit)
    messages = [message_view(record) for record in page.items]
    if page.next is not None:
        return Conversation(messages, page.next, None)
    if session.state != "running" or session.last_run_id is None:
        return Conversation(messages, None, session.last_pos)
    log = await store.get_log(session.last_run_id)
    return _with_run(messages, log)


def _with_run(stored: list[MessageView], log: RunLog) -> Conversation:
    """Add what the run has finished, before the messages that wait in the queue behind it."""
    run = log.info
    waiting = next(
        (at for at, shown in enumerate(stored) if shown.pos is None and shown.run_id != run.run_id),
        len(stored),
    )
    before = [shown for shown in stored[:waiting] if shown.run_id != run.run_id]
    fold = fold_log(Fold([_decode(shown.message) for shown in before]), log)
    known = {shown.id for shown in stored}
    added = [
        MessageView(
            id=message.id,
            run_id=run.run_id,
            role=message.role,
            created_at=run.started_at or run.created_at,
            pos=None,
            message=Raw(encode(message)),
        )
        for message in fold.messages
        if message.id not in known
    ]
    seq = fold.seq if fold.draft is None else fold.draft.from_seq
    return Conversation([*stored[:waiting], *added, *stored[waiting:]], None, run.first_pos + seq)
