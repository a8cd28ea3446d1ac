"""What importing agio costs, and that imports go down only."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60


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
    ],
)
def test_heavy_packages_are_imported_when_first_used(statement: str, kept_out: str) -> None:
    """L7: importing agio is cheap; a store, a driver or the terminal load what they need."""
    assert loaded(statement) & set(kept_out.split()) == set()


def test_imports_go_down_only() -> None:
    """L16: the import-linter contracts of pyproject.toml are kept."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout
