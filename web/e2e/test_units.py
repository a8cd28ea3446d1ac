"""The pages' own tests, which need no browser: the reducer, the socket, the hook, Markdown, forms."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from web.e2e.payloads import PAYLOADS

WEB = Path(__file__).parents[1]
NEEDED = 500


@pytest.mark.timeout(600)
def test_the_pages_own_tests_pass(tmp_path: Path) -> None:
    """C7, C8: the reducer against the same streams as the server, the hook that resumes, what pages make of them."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    npx = which("npx", path=path)
    assert npx is not None, "Node comes with make setup"
    report = tmp_path / "report.xml"
    command = [npx, "vitest", "run", "--reporter=dot", "--reporter=junit", f"--outputFile.junit={report}"]
    ours = {**os.environ, "PATH": path}
    ended = subprocess.run(command, cwd=WEB, env=ours, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]
    assert report.read_text().count("<testcase") > NEEDED


def test_there_are_two_hundred_hostile_texts() -> None:
    """C8: for the pages to show as words, and no two are the same."""
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 200
