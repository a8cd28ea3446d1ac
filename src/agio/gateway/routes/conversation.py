"""A session's messages so far: the stored ones, and those that its running run has finished."""

import msgspec
from msgspec import Raw, Struct

from agio.core.run.fold import Fold, fold_slices
from agio.core.store.records import SessionRecord
from agio.core.store.repository import RunLog
from agio.gateway.gateway import Gateway
from agio.gateway.routes.session_views import MessageView, message_view
from agio.protocol.codec import encode
from agio.protocol.messages import Message

_decode = msgspec.json.Decoder(Message).decode


class Conversation(Struct, frozen=True):
    """A page of messages; on the last page `stream_after` is the position from which a stream continues."""

    messages: list[MessageView]
    next: str | None
    previous: str | None
    stream_after: int | None


class Part(Struct, frozen=True):
    """The requested page: the first or after a cursor; the last or before a cursor."""

    after: str | None = None
    before: str | None = None
    tail: bool = False
    limit: int = 200


async def conversation(gateway: Gateway, session: SessionRecord, part: Part) -> Conversation:
    """Read a page of a session's messages, up to the requested number or the byte limit.

    The session was read earlier, so a run that has ended since appears twice rather than not at all: here and in the
    stream, where a client recognises its messages by their ids.
    """
    store, limit_bytes = gateway.store, gateway.limits.page_bytes
    place = (session.tenant, session.user, session.id)
    size = {"limit": part.limit, "limit_bytes": limit_bytes}
    if part.tail or part.before is not None:
        page = await store.last_messages(*place, before=part.before, **size)
    else:
        page = await store.list_messages(*place, after=part.after, **size)
    messages = [message_view(record) for record in page.items]
    if page.next is not None or part.before is not None:
        return Conversation(messages, page.next, page.previous, None)
    if session.state != "running" or session.last_run_id is None:
        return Conversation(messages, None, page.previous, session.last_pos)
    begun = await store.read_run(session.last_run_id, 0, limit_bytes)
    if begun.last_pos < session.last_pos:
        # Too large for a page: the stream delivers the whole run.
        return Conversation(messages, None, page.previous, begun.first_pos - 1)
    log = await store.get_log(session.last_run_id)
    return await _with_run(gateway, messages, page.previous, log)


async def _with_run(
    gateway: Gateway, stored: list[MessageView], previous: str | None, log: RunLog
) -> Conversation:
    """Insert the running run's finished messages before the queued ones."""
    run = log.info
    waiting = next(
        (at for at, shown in enumerate(stored) if shown.pos is None and shown.run_id != run.run_id),
        len(stored),
    )
    before = [shown for shown in stored[:waiting] if shown.run_id != run.run_id]
    fold = Fold([_decode(shown.message) for shown in before])
    await gateway.folds.finish(fold_slices(fold, log))
    known = {shown.id for shown in stored}
    if fold.input is not None:  # its input is stored, on this page or an earlier one
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
