"""A worker reads the files of its run's session, piece by piece, over each kind of link, and no others."""

import asyncio
import os

import pytest
from msgspec import structs

from agio.core.file import CHUNK_BYTES
from agio.errors import StoreError, UserError
from tests.contract.link.test_link import begun
from tests.support.engine import ANN, Engine, soon
from tests.support.scenes import Person
from tests.support.uploads import upload
from tests.support.wiring import Join, Visitor


async def test_a_worker_reads_its_sessions_files_in_pieces(room: Engine, join: Join) -> None:
    """R7: what a message refers to comes to the worker as it was uploaded; after the last piece comes nothing."""
    visitor = Visitor()
    link = await join(visitor)
    session, hand = await begun(room, link, visitor)
    data = os.urandom(2 * CHUNK_BYTES + 100)
    record = await upload(_ann(room), data, session_id=session.id)
    pieces = [await soon(link.read_file(hand.job.claim, record.id, idx)) for idx in range(4)]
    assert b"".join(piece.data for piece in pieces) == data
    assert [len(piece.data) for piece in pieces] == [CHUNK_BYTES, CHUNK_BYTES, 100, 0]
    assert {(piece.name, piece.media_type, piece.size) for piece in pieces} == {
        (record.name, record.media_type, len(data))
    }


async def test_a_worker_reads_no_other_file(room: Engine, join: Join) -> None:
    """R7: not one of the same user's in no session or another, nor with a claim that is not its own."""
    visitor = Visitor()
    link = await join(visitor)
    session, hand = await begun(room, link, visitor)
    ann = _ann(room)
    other = await ann.session()
    own = await upload(ann, session_id=session.id)
    foreign = [await upload(ann), await upload(ann, session_id=other.id)]
    for file_id in (*(record.id for record in foreign), "file_nowhere"):
        with pytest.raises(UserError) as refused:
            await soon(link.read_file(hand.job.claim, file_id, 0))
        assert refused.value.code == "file_not_found"
    claim = hand.job.claim
    for forged in (structs.replace(claim, token="x"), structs.replace(claim, epoch=claim.epoch + 1)):
        with pytest.raises(StoreError) as stale:
            await soon(link.read_file(forged, own.id, 0))
        assert stale.value.code == "stale_epoch"
    await hand.finish()
    await room.ended(session, hand.run_id)
    with pytest.raises(StoreError):
        await soon(link.read_file(claim, own.id, 0))


async def test_many_pieces_at_once_do_not_end_the_link(room: Engine, join: Join) -> None:
    """R7: 40 pieces asked for together come, and the link is still good."""
    visitor = Visitor()
    link = await join(visitor)
    session, hand = await begun(room, link, visitor)
    data = os.urandom(4 * CHUNK_BYTES)
    record = await upload(_ann(room), data, session_id=session.id)
    asked = [link.read_file(hand.job.claim, record.id, idx) for idx in range(4) for _ in range(10)]
    pieces = await soon(asyncio.gather(*asked))
    assert b"".join(piece.data for piece in pieces[::10]) == data
    await hand.say("Hello")
    await hand.finish()
    assert (await room.ended(session, hand.run_id)).status == "completed"


def _ann(room: Engine) -> Person:
    return Person(room.store, ANN.tenant, ANN.user)
