"""Programs under Node that tests talk to over standard input and output."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NODE_FOLDER = Path(__file__).parents[1] / "node"
NODE = shutil.which("node", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def start_node(script: str, package: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start a script of tests/node, which uses a package; without the package the test fails."""
    if NODE is None or not (NODE_FOLDER / "node_modules" / package).is_dir():
        pytest.fail(f"{package} is not installed; run `make setup`.", pytrace=False)
    command = [NODE, str(NODE_FOLDER / script), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
