"""Memories in every store: what a search finds and in which order, and what forgetting leaves."""

import re
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from agio.core.identity.principal import LOCAL_USER
from agio.core.memory import MemoryFields, MemorySource, Reach
from agio.core.passage import Passage, PassageQuery, PassageToEmbed
from agio.core.store.records import AgentFields, AgentRecord
from agio.core.store.store import Store
from agio.db.plans.memories import memories
from agio.db.plans.memories.memories import message_place
from agio.errors import LimitExceeded
from tests.support.backends import KINDS, LASTING_KINDS, Backend, lasting_backend, open_kind

DAY_MS = 24 * 3600 * 1000
NOON = 1_780_488_000_000
"""Wednesday, 3 June 2026, 12:00 UTC."""
WHO = ("default", LOCAL_USER)


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest) -> AsyncGenerator[Store]:
    """A store of each kind."""
    opened = await open_kind(request)
    yield opened
    await opened.close()


async def add_agent(store: Store, name: str = "ada") -> AgentRecord:
    fields = AgentFields(name=name, system_prompt="p", model_provider="demo", model_name="demo")
    return await store.create_agent("default", fields)


async def remember(store: Store, agent: AgentRecord, content: str, **fields: object) -> str:
    given = MemoryFields(content=content, **fields)  # pyright: ignore[reportArgumentType]
    return (await store.add_memory(*WHO, agent.id, given, MemorySource())).id


async def found(store: Store, agent: AgentRecord, text: str, limit: int = 3, **query: object) -> list[str]:
    asked = PassageQuery(text=text, now=NOON, limit=limit, **query)  # pyright: ignore[reportArgumentType]
    return [each.memory.content for each in await store.find_memories(Reach(*WHO, agent.id), asked)]


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("What are her dogs called?", "Her dog is called Rex."),
        ("who plays instruments", "Plays two instruments: cello and oboe."),
        ("does she eat nuts? never!", "Doesn't eat nuts."),
        ("müller", "Works with Dr. Müller in Zürich."),
        ("MULLER ZURICH", "Works with Dr. Müller in Zürich."),
        ("2 instruments", "Plays two instruments: cello and oboe."),
        ("the 14th of March", "Moved to Bern on 2024-03-14."),
        ("犬の名前", "彼女の犬の名前はハチです。"),
        ("drop table; \" OR * NEAR ( ' & | ! <-> :*", "Once typed: drop table passages;"),
    ],
)
async def test_a_search_finds_what_is_meant_in_other_words(store: Store, asked: str, first: str) -> None:
    """C5: endings, accents, numbers, dates, negations, scripts without spaces; nothing is syntax."""
    agent = await add_agent(store)
    for content in (
        "Her dog is called Rex.",
        "Plays two instruments: cello and oboe.",
        "Doesn't eat nuts.",
        "Works with Dr. Müller in Zürich.",
        "Moved to Bern on 2024-03-14.",
        "彼女の犬の名前はハチです。",
        "Once typed: drop table passages;",
        "Drinks green tea in the morning.",
    ):
        await remember(store, agent, content)
    assert (await found(store, agent, asked))[0] == first


async def test_date_words_find_what_was_then(store: Store) -> None:
    """C5: neighbours in time, also without a word in common."""
    agent = await add_agent(store)
    for days, content in (
        (1, "Bought a kayak."),
        (8, "Sold the piano."),
        (40, "Met Ada."),
        (400, "Fell ill."),
    ):
        await remember(store, agent, content, observed_at=NOON - days * DAY_MS)
    for asked, content in (
        ("what happened yesterday?", "Bought a kayak."),
        ("news of last week", "Sold the piano."),
        ("what was in April", "Met Ada."),
        ("anything from April 2025", "Fell ill."),
        ("what was on 2026-06-02?", "Bought a kayak."),
    ):
        assert (await found(store, agent, asked))[:1] == [content], asked


async def test_importance_and_recency_decide_between_equals(store: Store) -> None:
    """C5: mildly: a better match stays first."""
    agent = await add_agent(store)
    await remember(store, agent, "Likes tea from Assam.", observed_at=NOON - 900 * DAY_MS, importance=0.0)
    await remember(store, agent, "Likes tea from Nepal.", observed_at=NOON, importance=1.0)
    assert (await found(store, agent, "tea"))[0] == "Likes tea from Nepal."
    assert (await found(store, agent, "tea from Assam"))[0] == "Likes tea from Assam."


async def test_a_superseded_or_expired_memory_is_not_found(store: Store) -> None:
    """C5: it stays in the list, with what replaced it, and is forgotten with that."""
    agent = await add_agent(store)
    old = await remember(store, agent, "Lives in Bern.")
    new = await remember(store, agent, "Lives in Basel.", supersedes=old)
    await remember(store, agent, "Lives in a tent this summer.", expires_at=NOON - 1)
    assert await found(store, agent, "where does she live") == ["Lives in Basel."]
    assert (await store.get_memory(*WHO, old)).superseded_by == new
    await store.delete_memory(*WHO, new)
    assert await found(store, agent, "where does she live") == []
    assert [each.content for each in (await store.list_memories(*WHO)).items] == [
        "Lives in a tent this summer."
    ]


async def test_vectors_find_what_has_no_word_in_common(store: Store) -> None:
    """C5: fused with the words; of another model or size they are not compared, and made anew."""
    agent = await add_agent(store)
    for content in ("Has a hound.", "Has a boat.", "Collects stamps."):
        await remember(store, agent, content)
    waiting = await store.passages_to_embed("m1", 0, 10)
    assert [each.text for each in waiting] == ["Has a hound.", "Has a boat.", "Collects stamps."]
    vectors = {
        "Has a hound.": [1.0, 0.0, 0.1],
        "Has a boat.": [0.0, 1.0, 0.1],
        "Collects stamps.": [0.0, 0.1, 1.0],
    }
    await store.put_vectors("m1", [(each, vectors[each.text]) for each in waiting])
    near_dogs: dict[str, Any] = {"vector": [0.9, 0.1, 0.0], "model": "m1"}
    assert (await found(store, agent, "canine companion", **near_dogs))[0] == "Has a hound."
    assert (await found(store, agent, "stamps", **near_dogs))[0] in ("Collects stamps.", "Has a hound.")
    assert await found(store, agent, "canine companion") == []
    assert await found(store, agent, "canine", vector=[1.0, 0.0], model="m1") == []
    assert await found(store, agent, "canine", vector=[1.0, 0.0, 0.0], model="m2") == []
    assert await store.passages_to_embed("m1", 0, 10) == []
    assert len(await store.passages_to_embed("m2", 0, 10)) == 3
    await store.put_vectors("m1", [(PassageToEmbed(10**9, "default", "gone"), [1.0])])


async def test_the_number_of_memories_is_limited(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """C5: of a person; those of a team's agent count apart."""
    monkeypatch.setattr(memories, "MAX_MEMORIES", 2)
    agent = await add_agent(store)
    for number in (1, 2):
        await remember(store, agent, f"Number {number}.")
    with pytest.raises(LimitExceeded, match="too_many_memories"):
        await remember(store, agent, "Number 3.")
    await remember(store, agent, "Number 3.", scope="agent")


@pytest.mark.parametrize("request_kind", LASTING_KINDS)
@pytest.mark.parametrize("forget", ["memory", "session", "user"])
async def test_forgetting_leaves_nothing(
    request: pytest.FixtureRequest, request_kind: str, forget: str, tmp_path: Path
) -> None:
    """B6: no table has the text any more, nor the index, nor the store's files."""
    request.param = request_kind
    place = lasting_backend(request)
    store = await place.open()
    agent = await add_agent(store)
    session = (await store.start_session(*WHO, agent.id)).id
    canary = f"canary{time.time_ns()}"
    source = MemorySource(session_id=session)
    memory = await store.add_memory(*WHO, agent.id, MemoryFields(content=f"Knows {canary}."), source)
    replacing = MemoryFields(content=f"Loves {canary}.", supersedes=memory.id)
    await store.suggest_memory(*WHO, agent.id, replacing, source)
    said = Passage(
        place=message_place(*WHO), kind="message", item_id=f"{session}/m1", text=f"I know {canary}", at=1
    )
    await store.put_passages("default", [said])
    waiting = await store.passages_to_embed("m", 0, 10)
    await store.put_vectors("m", [(each, [0.5, 0.25]) for each in waiting])
    assert await rows_with(place, canary)
    if forget == "memory":
        await store.delete_memory(*WHO, memory.id)
        await store.delete_session(*WHO, session)  # its message
    elif forget == "session":
        await store.delete_session(*WHO, session)
    else:
        await store.forget_user(*WHO)
    assert await rows_with(place, canary) == []
    assert await place.execute("select number from embeddings") == []
    await store.close()
    assert files_with(tmp_path, canary) == []


def files_with(folder: Path, text: str) -> list[Path]:
    """The files in a folder that have a text."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def rows_with(place: Backend, text: str) -> list[str]:
    """The columns of all tables that have a text, also as bytes and in the index's own tables."""
    is_sqlite = place.log_table == "logs"
    tables = (
        "select name from sqlite_schema where type = 'table'"
        if is_sqlite
        else "select table_name from information_schema.tables where table_schema = 'public'"
    )
    found: list[str] = []
    for (table,) in await place.execute(tables):
        assert re.fullmatch(r"\w+", str(table))
        for row in await place.execute(f"select * from {table}"):
            if text in repr(row):
                found.append(f"{table}: {row!r}")
    return found
