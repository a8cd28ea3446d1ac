"""Files in the store: whole or not at all, their owner's alone, gone with their session."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from agio.core.file import CHUNK_BYTES, FileQuota
from agio.core.store.records import SessionStart
from agio.core.store.store import Store
from agio.db.records import now_ms
from agio.errors import LimitExceeded, UserError
from agio.protocol.ids import new_id
from agio.protocol.messages import DocumentPart, FileSource, UserMessage
from tests.support.scenes import LIMITS, Person, person
from tests.support.uploads import QUOTA, download, file_record, pieces, showing, upload


async def _session_of(owner: Person, file_id: str) -> str | None:
    return (await owner.store.get_file(owner.tenant, owner.user, file_id)).session_id


async def _is_gone(owner: Person, file_id: str) -> bool:
    with pytest.raises(UserError) as refused:
        await owner.store.get_file(owner.tenant, owner.user, file_id)
    assert refused.value.code == "file_not_found"
    return await owner.store.read_file(owner.tenant, owner.user, file_id, 0) is None


@pytest.mark.parametrize("size", [1, CHUNK_BYTES, CHUNK_BYTES + 1, 9 * CHUNK_BYTES + 5])
async def test_a_file_comes_back_as_it_was(store: Store, size: int) -> None:
    """C9: its bytes and what is said of it, in pieces, however many there are."""
    ann = await person(store)
    data = os.urandom(size)
    record = await upload(ann, data)
    assert await store.get_file(ann.tenant, ann.user, record.id) == record
    assert await download(ann, record.id) == data


@pytest.mark.parametrize(("tenant", "user"), [("other", "local"), ("default", "ben")])
async def test_a_file_is_its_owners_alone(store: Store, tenant: str, user: str) -> None:
    """S14: nobody else finds, reads, sends or deletes it."""
    ann, stranger = await person(store), await person(store, tenant, user)
    record = await upload(ann)
    assert await _is_gone(stranger, record.id)
    session = await stranger.session()
    with pytest.raises(UserError) as refused:
        await stranger.send(session, None, messages=[showing(record.id)])
    assert refused.value.code == "file_not_found"
    with pytest.raises(UserError) as refused:
        await store.delete_file(tenant, user, record.id)
    assert refused.value.code == "file_not_found"
    assert await download(ann, record.id) == b"bytes"
    assert await _session_of(ann, record.id) is None
    assert (await stranger.session_now(session)).state == "idle"


async def test_a_message_takes_its_files_into_its_session(store: Store) -> None:
    """C9: a session's messages may refer to a file any number of times, another session's not at all."""
    ann = await person(store)
    record, second = await upload(ann, b"one"), await upload(ann, b"two")
    session, other = await ann.session(), await ann.session()
    await ann.send(session, None, messages=[showing(record.id, record.id)])
    assert await _session_of(ann, record.id) == session.id
    await ann.send(session, None, messages=[showing(record.id, second.id)])
    with pytest.raises(UserError) as refused:
        await ann.send(other, None, messages=[showing(record.id)])
    assert refused.value.code == "file_not_found"
    where = (ann.tenant, ann.user, session.id, second.id)
    assert (await store.read_session_file(*where, 0)).data == b"two"
    assert (await store.read_session_file(*where, 1)).data == b""
    with pytest.raises(UserError):
        await store.read_session_file(ann.tenant, ann.user, other.id, record.id, 0)


async def test_a_message_with_a_file_that_is_not_there_leaves_nothing(store: Store) -> None:
    """R3: message, run, session and attachment are one commit, or none of them is."""
    ann = await person(store)
    record, agent = await upload(ann), await ann.agent()
    session_id = new_id("ses")
    with pytest.raises(UserError) as refused:
        await ann.send(
            session_id,
            None,
            messages=[showing(record.id, "file_nowhere")],
            start=SessionStart(agent_id=agent.id),
        )
    assert refused.value.code == "file_not_found"
    assert await _session_of(ann, record.id) is None
    with pytest.raises(UserError) as refused:
        await store.get_session(ann.tenant, ann.user, session_id)
    assert refused.value.code == "session_not_found"
    begun = await ann.send(
        session_id, None, messages=[showing(record.id)], start=SessionStart(agent_id=agent.id)
    )
    assert await _session_of(ann, record.id) == begun.session_id


async def test_a_handle_at_a_vendor_is_nobodys(store: Store) -> None:
    """S14: with the operator's key it would open a file of whoever uploaded it there."""
    ann = await person(store)
    session = await ann.session()
    source = FileSource("file-abc", provider="openai")
    message = UserMessage(id="msg_1", content=[DocumentPart(source=source)])
    with pytest.raises(UserError) as refused:
        await ann.send(session, None, messages=[message])
    assert refused.value.code == "file_not_found"


async def test_files_go_with_their_session(store: Store) -> None:
    """C5: deleting a session deletes its files, bytes and all."""
    ann = await person(store)
    session = await ann.session()
    sent, given = await upload(ann), await upload(ann, os.urandom(2 * CHUNK_BYTES), session_id=session.id)
    free = await upload(ann)
    await ann.send(session, None, messages=[showing(sent.id)])
    await store.delete_session(ann.tenant, ann.user, session.id)
    assert await _is_gone(ann, sent.id)
    assert await _is_gone(ann, given.id)
    assert await download(ann, free.id) == b"bytes"


async def test_a_file_can_be_deleted(store: Store) -> None:
    """C9: once; then it is not there."""
    ann = await person(store)
    record = await upload(ann)
    await store.delete_file(ann.tenant, ann.user, record.id)
    assert await _is_gone(ann, record.id)
    with pytest.raises(UserError):
        await store.delete_file(ann.tenant, ann.user, record.id)


async def test_what_nobody_sent_is_swept(store: Store) -> None:
    """C9: a file no message refers to goes after its time, one in a session stays."""
    ann = await person(store)
    session = await ann.session()
    old = [await upload(ann, created_at=number) for number in (1, 2, 3)]
    kept = await upload(ann, created_at=1)
    await ann.send(session, None, messages=[showing(kept.id)])
    young = await upload(ann)
    assert await store.sweep_files(now_ms() - 1000, limit=2) == 2
    assert await store.sweep_files(now_ms() - 1000, limit=2) == 1
    assert await store.sweep_files(now_ms() - 1000) == 0
    for record in old:
        assert await _is_gone(ann, record.id)
    for record in (kept, young):
        assert await download(ann, record.id) == b"bytes"


async def test_what_lies_about_is_limited(store: Store) -> None:
    """S14: so many files and so many bytes that no message refers to; what was sent does not count."""
    ann = await person(store)
    session = await ann.session()
    first = await upload(ann, b"1234")
    quota = FileQuota(files=2, size=10)
    with pytest.raises(LimitExceeded) as refused:
        await upload(ann, b"1234567", quota=quota)
    assert refused.value.code == "too_many_files"
    await upload(ann, b"5678", quota=quota)
    with pytest.raises(LimitExceeded):
        await upload(ann, b"", quota=quota)
    await ann.send(session, None, messages=[showing(first.id)])
    await upload(ann, b"9", quota=quota)
    await upload(await person(store, "default", "ben"), b"1234", quota=quota)


async def test_many_at_once_keep_to_the_limit(store: Store) -> None:
    """S14: of ten at once as many are taken as there is room for."""
    ann = await person(store)
    quota = FileQuota(files=4)
    taken = await asyncio.gather(*(upload(ann, quota=quota) for _ in range(10)), return_exceptions=True)
    assert sum(isinstance(one, LimitExceeded) for one in taken) == 6


async def test_half_a_file_is_seen_by_nobody(store: Store) -> None:
    """C9: until its last piece is there a file cannot be found, read or sent; what fails half-way is gone."""
    ann = await person(store)
    session = await ann.session()
    record = file_record(ann, b"")
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b"x" * CHUNK_BYTES
        reached.set()
        await go_on.wait()
        raise OSError("the disk is gone")

    storing = asyncio.ensure_future(store.add_file(record, slow(), QUOTA))
    async with asyncio.timeout(60):
        await reached.wait()
        assert await _is_gone(ann, record.id)
        with pytest.raises(UserError):
            await ann.send(session, None, messages=[showing(record.id)])
        go_on.set()
        with pytest.raises(OSError, match="disk"):
            await storing
    await store.add_file(record, pieces(b"whole"), FileQuota(files=1))
    assert await download(ann, record.id) == b"whole"


async def test_a_file_for_a_session_needs_one_of_ones_own(store: Store) -> None:
    """S14: also if it goes while the file is being written."""
    ann, ben = await person(store), await person(store, "default", "ben")
    theirs, session = await ben.session(), await ann.session()
    with pytest.raises(UserError) as refused:
        await upload(ann, session_id=theirs.id)
    assert refused.value.code == "session_not_found"
    record = structs.replace(file_record(ann, b"x"), session_id=session.id)

    async def deleting() -> AsyncIterator[bytes]:
        await store.delete_session(ann.tenant, ann.user, session.id)
        yield b"x"

    with pytest.raises(UserError) as refused:
        await store.add_file(record, deleting(), QUOTA)
    assert refused.value.code == "session_not_found"
    assert await _is_gone(ann, record.id)


async def test_a_repeated_message_needs_its_files_no_more(store: Store) -> None:
    """R3: the same key again is the same run, though its file was deleted since."""
    ann = await person(store)
    record, session = await upload(ann), await ann.session()
    first = await ann.send(session, None, messages=[showing(record.id)], key="k", digest=b"d", limits=LIMITS)
    await store.delete_file(ann.tenant, ann.user, record.id)
    again = await ann.send(session, None, messages=[showing(record.id)], key="k", digest=b"d")
    assert again.repeated
    assert again.run_id == first.run_id
