"""Appends of workers: stored, then shown, once."""

import pytest
from msgspec import structs

from agio.core.link.link import Claim
from agio.core.store.repository import Append, NewRun
from agio.errors import StoreError
from agio.protocol.codec import encode
from agio.protocol.events import TextMessageChunk
from agio.protocol.frames import Frame
from tests.support.engine import engine, soon


def frame_of(claim: Claim, first_seq: int, *texts: str) -> Frame:
    lines = [encode(TextMessageChunk(message_id="msg_1", delta=text)) + b"\n" for text in texts]
    return Frame(claim.run_id, claim.epoch, first_seq, len(texts), b"".join(lines))


async def test_a_repeated_append_is_answered_and_not_shown_again() -> None:
    """R6: a worker that did not hear the answer sends it again; readers see each event once."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        await room.say(session)
        claim = (await worker.next_job()).claim
        async with room.hub.subscribe(session.id, 1, from_now=True) as reader:
            write = Append(frame_of(claim, 2, "a", "b"))
            assert not (await soon(link.append(claim, write))).cancel
            assert not (await soon(link.append(claim, write))).cancel
            await soon(link.append(claim, Append(frame_of(claim, 4, "c"))))
            first, second = await soon(reader.next()), await soon(reader.next())
        assert first is not None
        assert second is not None
        assert (first.events.first_pos, first.events.count) == (2, 2)
        assert (second.events.first_pos, second.events.count) == (4, 1)
        assert room.gateway.counters.appends == 2
        assert room.gateway.counters.append_events == 3
        assert sum(room.gateway.counters.first_token_s.counts) == 1


async def test_an_append_that_leaves_a_gap_is_refused_and_the_claim_stays_good() -> None:
    """R6: one refusal spoils nothing else."""
    async with engine() as room:
        session = await room.session()
        worker, link, _ = await room.join()
        await room.say(session)
        claim = (await worker.next_job()).claim
        with pytest.raises(StoreError, match="sequence_gap"):
            await soon(link.append(claim, Append(frame_of(claim, 3, "too far"))))
        await soon(link.append(claim, Append(frame_of(claim, 2, "right"))))


async def test_a_claim_is_good_for_its_own_run_alone() -> None:
    """R7: neither another run's frame, nor another epoch, nor a wrong token, nor another worker's link."""
    async with engine() as room:
        one, two = await room.session(), await room.session()
        worker, link, _ = await room.join()
        await room.say(one)
        mine = (await worker.next_job()).claim
        await room.say(two)
        other = (await worker.next_job()).claim
        _, stranger, _ = await room.join("w2")

        async def refused(claim: Claim, frame: Frame, by: object = link) -> str:
            assert by is link or by is stranger
            with pytest.raises(StoreError) as refusal:
                await soon((stranger if by is stranger else link).append(claim, Append(frame)))
            return refusal.value.code

        good = frame_of(mine, 2, "x")
        assert await refused(mine, frame_of(other, 2, "x")) == "stale_epoch"
        assert await refused(mine, structs.replace(good, epoch=2)) == "stale_epoch"
        assert await refused(structs.replace(mine, token=other.token), good) == "stale_epoch"
        assert await refused(structs.replace(mine, epoch=2), good) == "stale_epoch"
        assert await refused(structs.replace(mine, run_id="run_none"), good) == "stale_epoch"
        assert await refused(mine, good, stranger) == "stale_epoch"
        new = NewRun("run_new", "thr", "agent", "model", "mark")
        with pytest.raises(StoreError, match="invalid_append"):
            await soon(link.append(mine, Append(good, create=new)))
        await soon(link.append(mine, Append(good)))
