"""The command line for each test, with nothing in its data folder."""

from pathlib import Path

import pytest

from tests.support.command import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
