"""Input for a running run: kept, consumed once, given to the next run if the run ends without it."""

from msgspec import structs

from agio.core.log_level import INPUTS, LANES, PLAIN
from agio.core.store.repository import Append, Outcome
from agio.core.store.store import Store
from agio.protocol.messages import UserMessage
from tests.support.scenes import LIMITS, WORKER, answer, claim, end, events, person

OLD_WORKER = structs.replace(WORKER, log_level=PLAIN)


async def test_input_is_consumed_once_and_what_is_left_begins_the_next_run(store: Store) -> None:
    """B1: also after a takeover and when the append is repeated; the key of each message leads to where it is."""
    who = await person(store)
    session = await who.session()
    sent = [await who.send(session, "one", key="one")]
    begun = (await claim(store)).info
    sent += [await who.send(session, text, key=text, on_busy="steer") for text in ("two", "three")]
    assert [each.run_id for each in sent] == [begun.run_id] * 3
    inputs = await store.run_inputs(begun.run_id)
    assert [(given.idx, given.message.content) for given in inputs] == [(1, "two"), (2, "three")]
    taken = Append(events(begun.run_id, 1, 2, 1), consumed=1)
    await store.append(taken)
    await store.append(taken)
    again = await store.reclaim(begun.run_id, 1, WORKER)
    assert again is not None
    assert await store.run_inputs(begun.run_id) == inputs[1:]
    await end(store, again, outcome=Outcome(messages=[inputs[0].message]))
    following = await claim(store)
    assert following.info.parent_run_id == begun.run_id
    assert await store.run_inputs(begun.run_id) == await store.run_inputs(following.info.run_id) == []
    run_input = (await store.get_log(following.info.run_id)).input()
    assert run_input is not None
    [left] = run_input.messages
    assert isinstance(left, UserMessage)
    assert (left.id, left.content) == (sent[2].message_id, "three")
    await answer(store, following)
    runs = [begun.run_id, begun.run_id, following.info.run_id]
    for first, run_id, text in zip(sent, runs, ("one", "two", "three"), strict=True):
        repeat = await who.send(session, text, key=text, on_busy="steer")
        assert (repeat.repeated, repeat.run_id, repeat.message_id) == (True, run_id, first.message_id)
    messages = (await store.list_messages("default", "local", session.id)).items
    assert [each.id for each in messages if each.role == "user"] == [each.message_id for each in sent]


async def test_a_run_is_claimed_only_by_those_who_can_read_its_log(store: Store) -> None:
    """B1: a level that the running run reaches holds for what waits behind it and for what comes later."""
    who = await person(store)
    session = await who.session()
    await who.send(session, "one")
    running = await claim(store)
    await who.send(session, "two")
    await store.append(Append(events(running.info.run_id, 1, 2, 1), level=LANES))
    await who.send(session, "three", on_busy="steer")
    assert (await store.get_run(running.info.run_id)).log_level == INPUTS
    await end(store, running, after=2)
    for _ in range(2):  # "two", and "three", which the run did not see
        assert await store.claim_next(OLD_WORKER, LIMITS) is None
        waiting = await claim(store)
        assert waiting.info.log_level == INPUTS
        await answer(store, waiting)
    assert (await who.send(session, "four", claim=OLD_WORKER)).claimed is None
    assert (await claim(store)).info.log_level == INPUTS
    other = await who.session()
    assert (await who.send(other, "five", claim=OLD_WORKER)).claimed is not None
