"""What is measured: each library, and the ways in which it can do the same run."""

import sys
from dataclasses import dataclass
from pathlib import Path

from environments import environment_python, has_uvloop

WORKERS = Path(__file__).parent / "workers"
OURS = "agio"


@dataclass(frozen=True)
class Library:
    """A library under test. `wires` and `stores` are the variants it offers."""

    name: str
    worker: str
    import_statement: str
    stores: tuple[bool, ...]
    wires: tuple[str, ...] = ("chat", "responses")

    def python(self) -> Path:
        """The interpreter that has it; makes the environment of a peer at first use."""
        return Path(sys.executable) if self.name == OURS else environment_python(self.name)


@dataclass(frozen=True)
class Variant:
    """One way of running a library: a row of the results."""

    library: Library
    wire: str
    store: bool
    loop: str

    @property
    def name(self) -> str:
        store = " + SQLite" if self.store else ""
        return f"{self.library.name}, {self.wire}{store} ({self.loop})"

    @property
    def is_ours(self) -> bool:
        return self.library.name == OURS

    def command(self, base_url: str, store_path: Path) -> list[str]:
        worker = str(WORKERS / self.library.worker)
        options = ["--base-url", base_url, "--wire", self.wire, "--loop", self.loop]
        if self.store:
            options += ["--store", str(store_path)]
        return [str(self.library.python()), worker, *options]


LIBRARIES = (
    Library(OURS, "with_agio.py", "import agio", stores=(True,)),
    Library(
        "openai-agents", "with_openai_agents.py", "from agents import Agent, Runner", stores=(False, True)
    ),
    Library("pydantic-ai", "with_pydantic_ai.py", "from pydantic_ai import Agent", stores=(False,)),
    Library("agno", "with_agno.py", "from agno.agent import Agent", stores=(False, True)),
)


def choose_variants(only: list[str], wire: str | None) -> list[Variant]:
    """The variants of a run of the benchmark, ours first.

    Without `wire` agio speaks chat and the peers whatever is cheapest for them: both are measured.
    """
    variants: list[Variant] = []
    for library in LIBRARIES:
        if library.name not in only:
            continue
        ours = library.name == OURS
        wires = (wire,) if wire else ("chat",) if ours else library.wires
        with_uvloop = has_uvloop(library.python())
        loops = ["uvloop"] if with_uvloop else ["asyncio"]
        if ours and with_uvloop:
            loops.append("asyncio")
        variants += [
            Variant(library, each, store, loop)
            for each in wires
            for store in library.stores
            for loop in loops
        ]
    return variants
