"""Documents: pages a second for each format, the memory of the parser, and how well and fast 500 pages are searched."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from agio.core.document import Counts, NewVersion, PassageFields
from agio.core.passage import PassageQuery
from agio.db.repository import open_store
from agio.documents.extractor import Extractor
from agio.documents.formats import format_of, media_type_of
from tests.support.office import MAKERS

TENANT, USER = "default", "local"
PAGES = 500
_THINGS = "ledger harbour granite orchard lantern meadow copper timber velvet marble cedar amber"
_WORDS = _THINGS.split(" ")


def page(number: int) -> list[str]:
    """A page about one thing that no other page is about."""
    filler = " ".join(_WORDS[(number * 7 + n) % len(_WORDS)] for n in range(220))
    thing = f"{_WORDS[number % 12]} {_WORDS[(number // 12) % 12]} contract{number}"
    return [f"Section {number}", f"The {thing} ends after {number + 3} months. {filler}."]


async def measure(pages: int = PAGES) -> dict[str, object]:
    """Read, index and search documents of every format; returns the figures."""
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(Path(folder) / "agio.db")
        made = await store.create_collection(TENANT, USER, "bench", "", own=False, team=True)
        share = pages // len(MAKERS)
        for place, (ending, make) in enumerate(sorted(MAKERS.items())):
            whole = [page(number) for number in range(pages)]
            file = Path(folder) / f"bench.{ending}"
            file.write_bytes(make(whole))
            given = format_of(file.name, file.read_bytes()[:4096])
            begun, memory = time.perf_counter(), 0
            async for line in Extractor().read(str(file), given):
                memory = max(memory, line.memory_bytes or 0)
            taken = time.perf_counter() - begun
            figures[ending] = {
                "pages_a_second": round(pages / taken),
                "memory_mib": round(memory / 2**20),
            }
            part = make([page(number) for number in range(place * share, (place + 1) * share)])
            file.write_bytes(part)
            passages: list[PassageFields] = []
            async for line in Extractor().read(str(file), given):
                passages += line.passages
            new = NewVersion(
                collection_id=made.id,
                name=file.name,
                source="upload",
                format=given,
                media_type=media_type_of(given),
                size=len(part),
                digest=file.name.encode(),
            )
            added = await store.add_document(TENANT, USER, new, _chunks(part), team=True)
            assert added.document.newest is not None
            version = await store.version_to_ingest(added.document.newest.id)
            assert version is not None
            await store.put_document_passages(version, passages, 1)
            await store.publish_version(version.version_id, Counts(None, 1, 1, len(passages)))
        ranks: list[int] = []
        times: list[float] = []
        for number in range(share * len(MAKERS)):
            query = PassageQuery(text=f"When does contract{number} end?", now=1, limit=10)
            begun = time.perf_counter()
            found = await store.find_documents(TENANT, USER, [made.id], query)
            times.append(time.perf_counter() - begun)
            hits = [rank for rank, each in enumerate(found) if f"contract{number} " in each.text]
            ranks.append(hits[0] if hits else 99)
        await store.close()
    figures["recall_at_5"] = sum(rank < 5 for rank in ranks) / len(ranks)
    figures["recall_at_10"] = sum(rank < 10 for rank in ranks) / len(ranks)
    figures["search_p95_ms"] = round(statistics.quantiles(times, n=20)[-1] * 1000, 2)
    return figures


async def _chunks(data: bytes) -> AsyncGenerator[bytes]:
    yield data


def main(*, quick: bool = False) -> dict[str, object]:
    """Measure and print."""
    figures = asyncio.run(measure(90 if quick else PAGES))
    for name, value in figures.items():
        print(f"{name:16} {value}")
    return figures


if __name__ == "__main__":
    main()
