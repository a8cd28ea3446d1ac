"""A line to Postgres that breaks instead of bringing an answer, wherever in a transaction that is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from agio.core.store.repository import Append
from agio.db.postgres.executor import open_postgres
from agio.db.repository import Repository
from agio.errors import StoreError
from tests.support.backends import begin, finish, frame, turn
from tests.support.scenes import person

ANSWERS = range(1, 30)
"""More than the longest transaction here gets."""


class Line:
    """Stands between a store and its server: what comes in is passed on, until an answer is not."""

    def __init__(self, url: str) -> None:
        self._there = Path(url.rpartition("host=")[2]) / ".s.PGSQL.5432"
        self._left = 0

    def break_at(self, answer: int) -> None:
        """Lose the next answer but `answer` - 1, and the connection with it."""
        self._left = answer

    @property
    def broke(self) -> bool:
        """Whether it did since."""
        return self._left == 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a store to the server."""
        answers, questions = await asyncio.open_unix_connection(self._there)
        asking = asyncio.ensure_future(_pass_on(reader, questions))
        with suppress(OSError):
            while answer := await answers.read(1 << 20):
                if self._left:
                    self._left -= 1
                    if self._left == 0:
                        break
                writer.write(answer)
                await writer.drain()
        writer.transport.abort()
        questions.transport.abort()
        await asyncio.wait([asking])


@pytest.fixture
async def line(postgres_url: str) -> Line:
    """The line to the server."""
    return Line(postgres_url)


@pytest.fixture
async def store(line: Line, postgres_url: str, tmp_path: Path) -> AsyncIterator[Repository]:
    """A store at the end of the line."""
    async with await asyncio.start_unix_server(line.serve, tmp_path / ".s.PGSQL.5432") as server:
        opened = Repository(await open_postgres(f"{postgres_url.rpartition('=')[0]}={tmp_path}"))
        yield opened
        await opened.close()
        server.close()


@pytest.mark.parametrize("heavy", [False, True], ids=["frames alone", "with a turn"])
async def test_an_append_whose_answer_was_lost_is_stored_once(
    store: Repository, line: Line, heavy: bool
) -> None:
    """B1: the store itself finds out what became of it."""
    await begin(store, "r1")
    for answer in ANSWERS:
        line.break_at(answer)
        await store.append(Append(frame("r1", answer, 1), [turn("r1", answer, answer)] if heavy else []))
        if not line.broke:
            break
    line.break_at(0)
    log = await store.get_log("r1")
    assert log.payload == frame("r1", 1, log.info.last_seq).payload
    assert len(log.turns) == (log.info.last_seq if heavy else 0)
    assert log.info.last_seq >= (5 if heavy else 2)


async def test_an_end_whose_answer_was_lost_happens_once(store: Repository, line: Line) -> None:
    """B1: wherever the line breaks, the run has ended when the append is acknowledged."""
    for answer in ANSWERS:
        run_id = f"r{answer}"
        await begin(store, run_id)
        line.break_at(answer)
        await finish(store, run_id, 1)
        broke = line.broke
        line.break_at(0)
        log = await store.get_log(run_id)
        assert (log.info.status, log.payload) == ("completed", frame(run_id, 1, 1).payload)
        if not broke:
            break


async def test_a_message_whose_acknowledgement_was_lost_can_be_sent_again(
    store: Repository, line: Line
) -> None:
    """R3: it is refused only where nobody can know; with its key it is one run all the same."""
    who = await person(store)
    session = await who.session()
    refused: list[str] = []
    for answer in ANSWERS:
        line.break_at(answer)
        try:
            await who.send(session, key=f"k{answer}", digest=b"1")
        except StoreError as error:
            refused.append(error.code)
        broke = line.broke
        line.break_at(0)
        await who.send(session, key=f"k{answer}", digest=b"1")
        assert (await store.count_runs())["queued"] == answer
        if not broke:
            break
    assert refused == ["store_unavailable"]


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while said := await reader.read(1 << 20):
            writer.write(said)
            await writer.drain()
    writer.transport.abort()
