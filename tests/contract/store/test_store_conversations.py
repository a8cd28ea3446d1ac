"""Conversations: read from their end, marked as read, found by what was said, alike on every store."""

import pytest

from agio.core.name import name_problem
from agio.core.store.records import ClaimBy, FoundMessage, MessageRecord, SessionRecord
from agio.core.store.repository import Append
from agio.core.store.store import Store
from agio.db.cursors import write_cursor
from agio.errors import UserError
from agio.protocol.messages import DataSource, ImagePart, TextPart, UserMessage
from tests.support.scenes import Person, answer, claim, end, events, person

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
WALES = "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"


async def test_messages_are_read_from_the_end_back_to_the_beginning(store: Store) -> None:
    """C5: the last page first, each in the order of the conversation, whatever the size of the pages."""
    who = await person(store)
    session = await _talk(who)
    whole = (await store.list_messages("default", "local", session.id)).items
    assert [message.pos for message in whole] == [1, 2, 3, 4, None, None]
    for limit in (1, 2, 3, 4, 6, 7):
        read: list[MessageRecord] = []
        before = None
        for _ in range(7):
            page = await store.last_messages("default", "local", session.id, before=before, limit=limit)
            assert len(page.items) <= limit
            read = [*page.items, *read]
            if (before := page.previous) is None:
                break
        assert read == whole


async def test_a_page_of_messages_ends_at_a_number_of_bytes(store: Store) -> None:
    """C5: from both ends: no page is larger unless it is one message, and together they are the conversation."""
    session = await _talk(await person(store))
    place = ("default", "local", session.id)
    whole = (await store.list_messages(*place)).items
    sizes = [len(message.message) for message in whole]
    for limit_bytes in (1, sum(sizes[:2]), sum(sizes) - 1, sum(sizes)):
        forth: list[MessageRecord] = []
        back: list[MessageRecord] = []
        after = before = None
        pages = 0
        while True:
            first = await store.list_messages(*place, after=after, limit_bytes=limit_bytes)
            last = await store.last_messages(*place, before=before, limit_bytes=limit_bytes)
            for page in (first, last):
                assert len(page.items) == 1 or sum(len(item.message) for item in page.items) <= limit_bytes
            forth, back = [*forth, *first.items], [*last.items, *back]
            after, before = first.next, last.previous
            pages += 1
            if after is None or before is None:
                break
        assert (after, before, forth, back) == (None, None, whole, whole)
        assert pages == {1: 6, sum(sizes): 1}.get(limit_bytes, pages)


async def test_a_page_leads_to_those_on_both_sides(store: Store) -> None:
    """C5: the cursors of a page in the middle go back and on, and one that nobody gave is refused."""
    who = await person(store)
    session = await _talk(who)
    place = ("default", "local", session.id)
    whole = (await store.list_messages(*place)).items
    tail = await store.last_messages(*place, limit=3)
    assert (tail.items, tail.next) == (whole[3:], None)
    first = await store.last_messages(*place, before=tail.previous, limit=3)
    assert (first.items, first.previous) == (whole[:3], None)
    assert (await store.list_messages(*place, after=first.next)).items == whole[3:]
    second = await store.list_messages(*place, after=first.next, limit=2)
    assert (await store.last_messages(*place, before=second.previous)).items == whole[:3]
    for cursor in ("x", write_cursor([1]), write_cursor(["1", 2, 3]), write_cursor([None, 2**63, 0])):
        with pytest.raises(UserError, match="invalid_cursor"):
            await store.last_messages(*place, before=cursor)
    with pytest.raises(UserError, match="session_not_found"):
        await store.last_messages("default", "nobody", session.id)
    empty = await who.session()
    assert (await store.last_messages("default", "local", empty.id)).items == []


async def test_what_was_read_stays_read(store: Store) -> None:
    """C5: how far somebody has read only grows, not beyond what there is, and moves no session in a list."""
    who = await person(store)
    session = await who.session()
    place = ("default", "local", session.id)
    assert session.seen_pos == 0
    assert (await store.update_session(*place, seen_pos=9)).seen_pos == 0
    await who.send(session)
    running = await claim(store)
    await store.append(Append(events(running.info.run_id, 1, 2, 4)))
    before = await who.session_now(session)
    assert (before.seen_pos, before.last_pos) == (0, 5)
    seen = await store.update_session(*place, seen_pos=3)
    assert (seen.seen_pos, seen.updated_at) == (3, before.updated_at)
    assert (await store.update_session(*place, seen_pos=2)).seen_pos == 3
    assert (await store.update_session(*place, seen_pos=99)).seen_pos == 5
    await end(store, running, after=5)
    assert (await who.session_now(session)).seen_pos == 5
    assert (await store.update_session(*place, seen_pos=2**53 - 1, title="Mine")).seen_pos == 6
    stranger = await person(store, "acme")
    with pytest.raises(UserError, match="session_not_found"):
        await store.update_session(stranger.tenant, stranger.user, session.id, seen_pos=1)


async def test_sessions_are_found_by_what_was_said(store: Store) -> None:
    """C5: by words of the user and of the agent in any case, never by the JSON that they are kept in."""
    who = await person(store)
    said, other = await who.session(), await who.session()
    await who.send(said, None, messages=[_parts('It\'s "Ärger" at 100%_', "and\nC:\\temp \x00 end")])
    await answer(store, await claim(store), "Das tut mir LEID.")
    await who.send(other, "100 percent")
    await answer(store, await claim(store), "fine")
    await store.update_session("default", "local", said.id, title="Nothing to see")

    async def found(search: str) -> list[str]:
        page = await store.list_sessions("default", "local", search=search)
        assert page.items == (await store.list_sessions("default", "local", search=search, limit=200)).items
        return [session.id for session in page.items]

    for words in ("ärger", "ÄRGER", "tut mir leid", "it's \"ä", "100%_", "c:\\TEMP", "to see", "and\nc:"):
        assert await found(words) == [said.id], words
    for key in ('"content"', "role", "content", "assistant", "image/png", "aGVsbG8", "1000", "100_p", "msg_"):
        assert await found(key) == [], key
    assert sorted(await found("100")) == sorted([said.id, other.id])
    agent = [said.agent_id, other.agent_id]
    assert (await store.list_sessions("default", "local", search="leid", agent_id=agent[1])).items == []
    assert len((await store.list_sessions("default", "local", search="leid", agent_id=agent[0])).items) == 1
    assert (await store.list_sessions("default", "ann", search="leid")).items == []
    assert (await store.list_sessions("acme", "local", search="leid")).items == []


async def test_a_search_says_where_it_was_said(store: Store) -> None:
    """C5: the newest message that has it, one that waits too, with the words around it; nothing if the title has it."""
    who = await person(store)
    session = await who.session()
    await store.update_session("default", "local", session.id, title="About otters")
    early, late = "An otter swims. " * 9, "Otters eat fish,\n\n  and\ta lot of it."

    async def found(search: str) -> FoundMessage | None:
        [shown] = (await store.list_sessions("default", "local", search=search)).items
        return shown.found

    assert await found("OTTERS") is None
    first = await who.send(session, early)
    await answer(store, await claim(store), late)
    place = await found("OTTER")
    assert place == FoundMessage(
        message_id=f"msg_of_{first.run_id}",
        run_id=first.run_id,
        before="",
        match="Otter",
        after="s eat fish, and a lot of it.",
    )
    place = await found("swims. an")
    assert place is not None
    assert (place.message_id, place.before, place.match) == (first.message_id, "An otter ", "swims. An")
    assert place.after.endswith("…")
    running = await who.send(session, "wait", claim=ClaimBy("w", b""))
    waiting = await who.send(session, "Is this an OTTER?")
    again = await who.send(session, "And an otter this?")
    place = await found("otter?")
    assert place is not None
    assert place.message_id == waiting.message_id
    place = await found("otter")
    assert place is not None
    assert (place.message_id, running.claimed is not None) == (again.message_id, True)
    assert [shown.found for shown in (await store.list_sessions("default", "local")).items] == [None]
    assert (await store.list_sessions("default", "ann", search="otter")).items == []


async def test_a_place_is_cut_out_of_a_message_of_any_size(store: Store) -> None:
    """C5: near its beginning, its middle and its end, also where upper and lower case are not of one length."""
    who = await person(store)
    session = await who.session()
    filler = "İstanbulda ΟΔΟΣ straße 👩🏽‍🚀 "
    half = filler * (50_000 // len(filler))
    text = f"first {half}\0 Ωmega MIDDLE {half}last"
    sent = await who.send(session, text)

    async def found(search: str) -> FoundMessage:
        [shown] = (await store.list_sessions("default", "local", search=search)).items
        assert shown.found is not None
        assert shown.found.message_id == sent.message_id
        whole = shown.found.before + shown.found.match + shown.found.after
        assert len(whole) <= 122 + len(search), whole
        return shown.found

    place = await found("ωMEGA middle")
    assert place.match == "Ωmega MIDDLE"
    assert place.before.endswith("straße 👩🏽‍🚀 \ufffd ")
    assert place.after.startswith(" İstanbulda ΟΔΟΣ")
    assert ((await found("FIRST")).before, (await found("LAST")).after) == ("", "")
    for words, written in {
        "istanbul": "İstanbul",
        "οδος": "ΟΔΟΣ",
        "ΟΔΟΣ": "ΟΔΟΣ",
        "STRAßE": "straße",
    }.items():
        assert (await found(words)).match == written, words
    assert (await found("👩🏽")).match == "👩🏽‍🚀"


@pytest.mark.parametrize(
    "words",
    [
        "100%",
        "a_b",
        "'; drop table",
        '"',
        "\\",
        "\\d+(.*)[",
        "<b>x</b>",
        "שלום עולם",
        "مرحبا",
        "🏳️‍🌈",
        "e\u0301",
        "{}",
        "\\u0000",
        "\\\\u0000 \\u0000\\u0000",
    ],
)
async def test_any_words_are_found_as_they_are(store: Store, words: str) -> None:
    """C5: no sign means anything but itself, in whatever script."""
    who = await person(store)
    said, other = await who.session(), await who.session()
    await who.send(said, f"before {words} after")
    await who.send(other, "100 aXb d nothing")
    await store.update_session("default", "local", said.id, title="one")
    page = await store.list_sessions("default", "local", search=words)
    [found] = [shown.found for shown in page.items]
    assert found is not None
    assert (found.before, found.match, found.after) == ("before ", words, " after")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("What   is\nthis?\t", "What is this?"),
        ("word " * 40, "word " * 15 + "word…"),
        ("x" * 80, "x" * 80),
        ("x" * 300, "x" * 79 + "…"),
        ("see " + "x" * 300, "see " + "x" * 75 + "…"),
        ("   \n ", ""),
        ("\u202ea\u200bb\x07c", "abc"),
        ("\u200b\u202e", ""),
        (FAMILY * 30, FAMILY * 11 + "…"),
        (WALES * 30, WALES * 11 + "…"),
        ("👍🏽" * 80, "👍🏽" * 39 + "…"),
        ("e\u0301" * 80, "e\u0301" * 39 + "…"),
        ("👨\u200d" * 80, "👨\u200d" * 39 + "👨…"),
        ("a" * 76 + "می\u200cشد", "a" * 76 + "می\u200c…"),
    ],
)
async def test_a_title_is_the_beginning_of_the_first_message(store: Store, text: str, title: str) -> None:
    """C5: one line of at most 80 characters, which ends where a word does."""
    who = await person(store)
    session = await who.session()
    await who.send(session, text)
    assert (await who.session_now(session)).title == title
    assert len(title) <= 80
    assert not title or name_problem(title) is None


async def _talk(who: Person) -> SessionRecord:
    """Two answered messages, and two that wait."""
    session = await who.session()
    for text in ("one", "two"):
        await who.send(session, text)
        await answer(who.store, await claim(who.store))
    await who.send(session, "three")
    await who.send(session, "four")
    return session


def _parts(*texts: str) -> UserMessage:
    picture = ImagePart(source=DataSource("aGVsbG8", "image/png"))
    return UserMessage(id="msg_parts", content=[*(TextPart(text=text) for text in texts), picture])
