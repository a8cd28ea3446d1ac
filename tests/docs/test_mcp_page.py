"""docs/mcp_server.md against a real server: its commands and its Python client."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec

from tests.docs.test_server_page import BETWEEN, DOCUMENTED_URL, is_said, run_script
from tests.support.pages import ROOT, blocks_of
from tests.support.process import KEY, Server

PAGE = ROOT / "docs" / "mcp_server.md"


def test_the_commands_and_the_client_of_the_page_work(tmp_path: Path) -> None:
    """B8, L16: what a reader types, in order; then the Python client, as it is on the page."""
    blocks = blocks_of(PAGE, "sh", "json", "text")
    commands = [at for at, block in enumerate(blocks) if block.language == "sh"]
    script = f"\necho\necho '{BETWEEN}'\n".join(blocks[at].code for at in commands)
    (client,) = blocks_of(PAGE, "python")
    with Server(tmp_path) as server:
        printed = run_script(script, server, tmp_path).split(f"{BETWEEN}\n")
        for at, output in zip(commands, printed, strict=True):
            assert is_said(blocks[at + 1], output), f"{blocks[at].place} prints\n{output}"
        done = subprocess.run(
            [sys.executable, "-c", client.code.replace(DOCUMENTED_URL, server.url)],
            env={**os.environ, "AGIO_API_KEY": KEY},
            capture_output=True,
            text=True,
            timeout=90,
        )
    assert (done.stdout, done.stderr) == ("['Tea_shop', 'demo']\ncompleted\n", "")


def test_the_configurations_of_clients_are_whole() -> None:
    """B8, L16: each is valid, leads to /mcp and has the key from where the client reads it."""
    shown = [block.code for block in blocks_of(PAGE, "json") if "jsonrpc" not in block.code]
    configurations = [
        *map(msgspec.json.decode, shown),
        *(tomllib.loads(b.code) for b in blocks_of(PAGE, "toml")),
    ]
    assert len(configurations) == 4
    for configuration in configurations:
        servers = next(value for name, value in configuration.items() if name.lower().endswith("servers"))
        assert servers["agio"]["url"] == f"{DOCUMENTED_URL}/mcp"
        assert "AGIO_API_KEY" in str(servers["agio"]) or "inputs" in configuration
