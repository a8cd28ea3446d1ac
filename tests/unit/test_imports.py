"""What importing agio costs, and that imports go down only."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60
PLANTED = {
    "Imports go down only": ("protocol/codec.py", "agio.core.config"),
    "The rooms of the gateway": ("gateway/http/asgi.py", "agio.gateway.auth.passwords"),
    "The rooms of the routes": ("gateway/routes/tools/bodies.py", "agio.gateway.routes.agents.bodies"),
    "The rooms of core": ("core/run/spec.py", "agio.core.engine.loop"),
    "The databases do not know each other": ("db/sqlite/live.py", "agio.db.postgres.errors"),
    "Only workers and the library run agents": ("db/records.py", "agio.core.engine.turn"),
    "A worker holds no database": ("worker/job.py", "agio.db.repository"),
    "A gateway calls no model": ("gateway/counters.py", "agio.drivers.sse"),
    "The Agents SDK stays in its engine": ("worker/app.py", "agents"),
    "Settings are handed down as values": ("execution/results.py", "agio.settings"),
}
"""For each contract a file and an import it must refuse."""


def loaded(statement: str) -> set[str]:
    """Return the top-level packages a statement loads in a fresh Python."""
    program = f"{statement}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "kept_out"),
    [
        ("import agio", "aiohttp apsw docstring_parser jsonschema_rs msgspec pydantic rich typer asyncio"),
        ("from agio import Agent", "aiohttp apsw docstring_parser jsonschema_rs pydantic rich typer"),
        (
            "from agio import Agent\nAgent('a')",
            "aiohttp apsw docstring_parser jsonschema_rs pydantic rich typer",
        ),
        ("from agio import tool, ToolContext, AgioError", "aiohttp apsw pydantic rich typer"),
        ("import agio.testing", "aiohttp apsw pydantic rich typer"),
        ("import agio.server.composition", "mcp mcp_types httpx2 sse_starlette agents openai"),
    ],
)
def test_heavy_packages_are_imported_when_first_used(statement: str, kept_out: str) -> None:
    """L7: importing agio is cheap; a store, a driver or the terminal load what they need."""
    assert loaded(statement) & set(kept_out.split()) == set()


def lint_imports(folder: Path) -> str:
    """Check the contracts of a copy of the project and return the report."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout + done.stderr


def test_imports_go_down_only() -> None:
    """L16: the import-linter contracts of pyproject.toml are kept."""
    assert "0 broken" in lint_imports(ROOT)


def test_every_contract_refuses_a_planted_import(tmp_path: Path) -> None:
    """L16: with one forbidden import planted for each contract, each is reported as broken."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("dist", "__pycache__"))
    for file, module in PLANTED.values():
        with (tmp_path / "src" / "agio" / file).open("a") as source:
            source.write(f"\nimport {module}\n")
    report = lint_imports(tmp_path)
    contracts = re.findall(r"^(.+?) (BROKEN|KEPT)", report, re.MULTILINE)
    assert contracts == [(name, "BROKEN") for name in PLANTED]
