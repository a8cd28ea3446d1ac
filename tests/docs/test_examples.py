"""The examples run offline, as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import ROOT

EXAMPLES = {
    "agents_sdk.py": ["**42**", '"assistant": "billing"', "You are Ada. 4 items kept"],
    "basic_agent.py": ["17 * 23", "calculator", "391", "completed"],
    "history_and_replay.py": ["2 runs", "byte-identical to its stream: True", "it is whole", "**12**"],
    "custom_tools.py": ["we do not sell plums", "progress: calling", '"in_stock":20', "on their way"],
}


def test_every_example_is_run() -> None:
    """L15: there is no example that the tests do not run."""
    assert {file.name for file in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_offline_and_shows_what_it_is_about(name: str, tmp_path: Path) -> None:
    """L15, L16: each example exits well, says what it should, and is under 60 lines."""
    file = ROOT / "examples" / name
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [words for words in EXAMPLES[name] if words not in done.stdout] == []
    assert len(file.read_text().splitlines()) < 60
