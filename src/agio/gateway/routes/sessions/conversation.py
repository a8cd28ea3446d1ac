"""A session's messages so far: the stored ones, and those that its running run has finished."""

import msgspec
from msgspec import UNSET, Raw, Struct

from agio.core.run.fold import Fold, fold_slices
from agio.core.store.records import SessionRecord
from agio.core.store.repository import RunLog
from agio.gateway.gateway import Gateway
from agio.gateway.routes.sessions.views import MessageView, message_view
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
    leaf: str | None = None
    """The run to whose path the messages belong; None: the session's leaf."""


async def conversation(gateway: Gateway, session: SessionRecord, part: Part) -> Conversation:
    """Read a page of a session's messages, up to the requested number or the byte limit.

    The session was read earlier, so a run that has ended since appears twice rather than not at all: here and in the
    stream, where a client recognises its messages by their ids.
    """
    store, limit_bytes = gateway.store, gateway.limits.page_bytes
    place = (session.tenant, session.user, session.id)
    is_current = part.leaf in (None, session.leaf_run_id)
    leaf = part.leaf or (session.leaf_run_id if session.branched else None)
    size = {"limit": part.limit, "limit_bytes": limit_bytes}
    if part.tail or part.before is not None:
        page = await store.last_messages(*place, before=part.before, leaf=leaf, queued=is_current, **size)
    else:
        page = await store.list_messages(*place, after=part.after, leaf=leaf, queued=is_current, **size)
    messages = [message_view(record) for record in page.items]
    if page.next is not None or part.before is not None:
        return Conversation(messages, page.next, page.previous, None)
    if session.state != "running" or session.last_run_id is None or not is_current:
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
    """Insert the running run's finished messages before those that wait to join it, and the queued ones."""
    run = log.info
    begun = [shown for shown in stored if shown.pos is not None]
    waiting = {shown.id: shown for shown in stored if shown.pos is None}
    earlier = [_decode(shown.message) for shown in begun if shown.run_id != run.run_id]
    fold = Fold([message for message in earlier if message.subagent_run_id is UNSET])
    await gateway.folds.finish(fold_slices(fold, log))
    known = {shown.id for shown in begun}
    if fold.input is not None:  # its input is stored, on this page or an earlier one
        known.update(message.id for message in fold.input.messages)
    added = [
        msgspec.structs.replace(waiting.pop(message.id), pos=run.first_pos + 1)  # the run has taken it
        if message.id in waiting
        else MessageView(
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
    seq = min((lane.draft.from_seq for lane in fold.all_lanes if lane.draft is not None), default=fold.seq)
    messages = [*begun, *added, *waiting.values()]
    return Conversation(messages, None, previous, run.first_pos + seq)
