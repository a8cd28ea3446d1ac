"""Files: begun, written chunk by chunk, visible when complete, attached to the session that refers to them."""

from collections.abc import Iterable, Sequence

import msgspec

from agio.core.file import FilePiece, FileQuota, FileRecord, handles_in
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.runs.log import check_session
from agio.db.records import now_ms
from agio.db.refusals import file_not_found
from agio.db.rows import by_name, to_struct
from agio.errors import LimitExceeded
from agio.protocol.messages import Message


def begin_file(record: FileRecord, quota: FileQuota) -> Plan[None]:
    """Add the row of a file. Raises LimitExceeded `too_many_files`, UserError `session_not_found`."""
    owner = {"tenant": record.tenant, "user_id": record.user}
    if record.session_id is not None:
        yield from check_session(record.tenant, record.user, record.session_id)
    yield from ask("lock_tenant", tenant=record.tenant)
    count, size = msgspec.convert((yield from ask_one("count_unused_files", **owner)), tuple[int, int])
    if count >= quota.files or size + record.size > quota.size:
        raise LimitExceeded(
            "too_many_files",
            f"You have {count} files ({size} bytes) that no message refers to; {quota.files} files and "
            f"{quota.size} bytes are possible. Send them, delete some, or wait a day.",
            {"files": quota.files, "bytes": quota.size},
        )
    yield from ask(
        "begin_file",
        file_id=record.id,
        file_name=record.name,
        media_type=record.media_type,
        size=record.size,
        digest=record.digest,
        created_at=record.created_at,
        **owner,
    )


def add_chunks(file_id: str, first: int, chunks: Iterable[bytes]) -> Plan[None]:
    """Write the next chunks of a file."""
    for idx, chunk in enumerate(chunks, first):
        yield from ask("add_file_chunk", file_id=file_id, idx=idx, data=chunk)


def finish_file(record: FileRecord, first: int, chunks: Iterable[bytes]) -> Plan[None]:
    """Write the last chunks and make the file visible. UserError `file_not_found`, `session_not_found`."""
    if record.session_id is not None:
        yield from check_session(record.tenant, record.user, record.session_id)
    yield from add_chunks(record.id, first, chunks)
    finished = yield from ask_one(
        "finish_file",
        tenant=record.tenant,
        user_id=record.user,
        file_id=record.id,
        session_id=record.session_id,
        now=now_ms(),
    )
    if finished is None:
        raise file_not_found(record.id)


def put_file_text(tenant: str, user: str, file_id: str, text: bytes) -> Plan[None]:
    """Set what models get of a file instead of its bytes, at most a chunk. Raises UserError `file_not_found`."""
    given = {"tenant": tenant, "user_id": user, "file_id": file_id}
    if (yield from ask_one("put_file_text", text=text, **given)) is None:
        raise file_not_found(file_id)


def get_file(tenant: str, user: str, file_id: str) -> Plan[FileRecord]:
    """Raises UserError `file_not_found`."""
    row = yield from ask_one("get_file", tenant=tenant, user_id=user, file_id=file_id)
    if row is None:
        raise file_not_found(file_id)
    return to_struct(FileRecord, row)


def read_file(tenant: str, user: str, file_id: str, idx: int) -> Plan[bytes | None]:
    """A chunk of a file; None after the last."""
    row = yield from ask_one("read_file", tenant=tenant, user_id=user, file_id=file_id, idx=idx)
    return None if row is None else msgspec.convert(row[0], bytes)


def read_session_file(tenant: str, user: str, session_id: str, file_id: str, idx: int) -> Plan[FilePiece]:
    """A chunk of a file that a message of this session refers to. Raises UserError `file_not_found`."""
    place = {"tenant": tenant, "user_id": user, "session_id": session_id}
    row = yield from ask_one("read_session_file", file_id=file_id, idx=idx, **place)
    if row is None:
        raise file_not_found(file_id)
    values = by_name(FilePiece, row)
    return msgspec.convert({**values, "data": values["data"] or b""}, FilePiece)


def delete_file(tenant: str, user: str, file_id: str) -> Plan[None]:
    """Raises UserError `file_not_found`."""
    if (yield from ask_one("delete_file", tenant=tenant, user_id=user, file_id=file_id)) is None:
        raise file_not_found(file_id)


def attach_files(place: dict[str, object], messages: Sequence[Message]) -> Plan[None]:
    """Attach the files that messages refer to. Raises UserError `file_not_found`."""
    for file_id in dict.fromkeys(handles_in(messages)):
        if (yield from ask_one("attach_file", file_id=file_id, **place)) is None:
            raise file_not_found(file_id)


def unused_files(before: int, limit: int) -> Plan[list[str]]:
    """Files uploaded before a time that no message refers to."""
    return [str(row[0]) for row in (yield from ask("unused_files", before=before, limit=limit))]


def delete_unused_file(file_id: str, before: int) -> Plan[bool]:
    """Delete a file unless a message refers to it by now; returns whether it was deleted."""
    return (yield from ask_one("delete_unused_file", file_id=file_id, before=before)) is not None
