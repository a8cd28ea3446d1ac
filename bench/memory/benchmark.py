"""Measures memory: recall of what is known to answer, beside plain BM25, and time and size at growing numbers."""

import asyncio
import json
import math
import re
import resource
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles

from environments import environment_python

from agio.core.memory import MemoryFields, MemorySource, Reach
from agio.core.passage import Passage, PassageQuery
from agio.core.store.records import AgentFields
from agio.db.plans.memories.memories import memory_place
from agio.db.repository import Repository, open_store
from memory.questions import NOW, distractors, evidence

CUTS = (5, 10, 20)
DISTRACTORS = 2_000
MODEL = "minilm"
_BATCH = 2_000


async def measure(sizes: Sequence[int], *, vectors: bool) -> dict[str, object]:
    """Measure recall, then time and size."""
    results: dict[str, object] = {"recall": await _recall(vectors=vectors), "sizes": []}
    results["sizes"] = [await _size(count) for count in sizes]
    return results


def show(results: dict[str, object]) -> str:
    """The results as text."""
    lines = ["recall of the evidence      @5     @10     @20"]
    recall: dict[str, list[float]] = results["recall"]  # type: ignore[assignment]
    lines += [
        f"{name:24}" + "".join(f"{100 * value:7.1f}" for value in found) for name, found in recall.items()
    ]
    lines += ["", "memories   of one person   p50 ms   p95 ms   p95 CPU ms   file MB   process MB"]
    sizes: list[dict[str, float]] = results["sizes"]  # type: ignore[assignment]
    for each in sizes:
        lines.append(
            f"{each['memories']:9,.0f} {each['own']:12,.0f} {each['p50_ms']:9.1f} {each['p95_ms']:8.1f} "
            f"{each['cpu_p95_ms']:12.1f} "
            f"{each['file_mb']:9.0f} {each['process_mb']:12.0f}"
        )
    return "\n".join(lines)


async def _recall(*, vectors: bool) -> dict[str, list[float]]:
    known = evidence()
    asked = [(question, each.text) for each in known for question in each.questions]
    texts = [(each.text, _ms(each.day)) for each in known] + distractors(DISTRACTORS)
    found = {"plain BM25": [_plain(question, [text for text, _ in texts]) for question, _ in asked]}
    with tempfile.TemporaryDirectory() as folder:
        store, reach = await _open(Path(folder))
        for text, at in texts:
            await store.add_memory(
                "default", "local", reach.agent_id, MemoryFields(content=text, observed_at=at), MemorySource()
            )
        found["words"] = [await _search(store, reach, question) for question, _ in asked]
        if vectors:
            made = _embed([*(text for text, _ in texts), *(question for question, _ in asked)])
            while waiting := await store.passages_to_embed(MODEL, 0, 500):
                await store.put_vectors(MODEL, [(each, made[each.text]) for each in waiting])
            found["words and vectors"] = [
                await _search(store, reach, question, made[question]) for question, _ in asked
            ]
        await store.close()
    return {
        name: [
            sum(answer in one[:cut] for one, (_, answer) in zip(each, asked, strict=True)) / len(asked)
            for cut in CUTS
        ]
        for name, each in found.items()
    }


async def _size(count: int) -> dict[str, float]:
    """Time searches of a person with a hundredth of a tenant's memories, 10,000 at least if there are as many."""
    own = min(count, max(10_000, count // 100))
    with tempfile.TemporaryDirectory() as folder:
        store, reach = await _open(Path(folder))
        texts = distractors(count)
        for at in range(0, count, _BATCH):
            await store.put_passages(
                "default",
                [
                    Passage(
                        place=memory_place("default", "local" if n < own else f"u{n % 99}", reach.agent_id),
                        kind="memory",
                        item_id=f"mem_{n}",
                        text=text,
                        at=moment,
                    )
                    for n, (text, moment) in enumerate(texts[at : at + _BATCH], at)
                ],
            )
        questions = [question for each in evidence() for question in each.questions]
        took: list[float] = []
        used: list[float] = []
        for question in [*questions[:10], *questions]:
            began, cpu = time.perf_counter(), time.process_time()
            await store.find_memories(reach, PassageQuery(text=question, now=NOW, limit=20))
            took.append((time.perf_counter() - began) * 1000)
            used.append((time.process_time() - cpu) * 1000)
        await store.close()
        size = _size_mb(Path(folder))
    took, used = took[10:], used[10:]
    return {
        "memories": count,
        "own": own,
        "p50_ms": median(took),
        "p95_ms": quantiles(took, n=20)[-1],
        "cpu_p95_ms": quantiles(used, n=20)[-1],
        "file_mb": size,
        "process_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


async def _open(folder: Path) -> tuple[Repository, Reach]:
    store = await open_store(folder / "agio.db")
    fields = AgentFields(name="bench", system_prompt="-", model_provider="demo", model_name="demo")
    agent = await store.create_agent("default", fields)
    return store, Reach("default", "local", agent.id)


async def _search(
    store: Repository, reach: Reach, question: str, vector: Sequence[float] | None = None
) -> list[str]:
    query = PassageQuery(
        text=question, now=NOW, limit=max(CUTS), vector=vector, model=MODEL if vector else ""
    )
    return [each.memory.content for each in await store.find_memories(reach, query)]


def _plain(question: str, texts: Sequence[str]) -> list[str]:
    """BM25 as in the textbook: k1 1.2, b 0.75, words in lower case, neither stems nor a list of common words."""
    documents = _split(texts)
    average = sum(len(words) for words in documents) / len(documents)
    frequency = _frequency(texts)
    asked = set(re.findall(r"\w+", question.lower()))

    def score(words: list[str]) -> float:
        count = Counter(words)
        total = 0.0
        for word in asked & count.keys():
            idf = math.log(1 + (len(texts) - frequency[word] + 0.5) / (frequency[word] + 0.5))
            total += idf * count[word] * 2.2 / (count[word] + 1.2 * (0.25 + 0.75 * len(words) / average))
        return total

    scored = sorted(
        ((score(words), -at) for at, words in enumerate(documents) if asked & set(words)), reverse=True
    )
    return [texts[-at] for _, at in scored[: max(CUTS)]]


_kept: dict[int, list[list[str]]] = {}


def _split(texts: Sequence[str]) -> list[list[str]]:
    if len(texts) not in _kept:
        _kept[len(texts)] = [re.findall(r"\w+", text.lower()) for text in texts]
    return _kept[len(texts)]


def _frequency(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for words in _split(texts) for word in set(words))


def _embed(texts: Sequence[str]) -> dict[str, list[float]]:
    """Make vectors in an environment of their own, which has the model."""
    script = Path(__file__).with_name("embed.py")
    done = subprocess.run(
        [environment_python("minilm"), script],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(texts, json.loads(done.stdout), strict=True))


def _ms(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)


if __name__ == "__main__":
    print(show(asyncio.run(measure([1_000], vectors=False))))
