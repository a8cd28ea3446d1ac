"""Virtual environments of the peers and the model server, made from hashed requirements at first use."""

import functools
import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


@functools.cache
def environment_python(name: str) -> Path:
    """The interpreter of an environment; makes it again when its requirements have changed."""
    folder = HERE / "venvs" / name
    python = folder / "bin" / "python"
    requirements = HERE / "requirements" / f"{name}.txt"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    stamp = folder / "requirements.sha256"
    if not stamp.exists() or stamp.read_text() != digest:
        print(f"Making {folder.relative_to(HERE.parent)} ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--require-hashes", "-r", requirements], check=True)
        stamp.write_text(digest)
    return python


@functools.cache
def has_uvloop(python: Path) -> bool:
    return subprocess.run([python, "-c", "import uvloop"], capture_output=True, check=False).returncode == 0


def quiet_environment(home: Path) -> dict[str, str]:
    """An environment in which nothing is sent anywhere but to the model server."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "NO_PROXY": "*",
        "DO_NOT_TRACK": "1",
        "OPENAI_API_KEY": "sk-mock",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "AGNO_TELEMETRY": "false",
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "OTEL_SDK_DISABLED": "true",
    }
