"""docs/files.md against a real server: its commands run in order and print what the page says."""

from pathlib import Path

from tests.docs.test_server_page import ANSWER, BETWEEN, is_said, run_script
from tests.support.pages import ROOT, blocks_of
from tests.support.process import Server

PAGE = ROOT / "docs" / "files.md"
SHELL = """
AGIO=http://127.0.0.1:8700
AUTH="Authorization: Bearer $AGIO_API_KEY"
JSON="Content-Type: application/json"
id() { python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])'; }
"""


def test_the_commands_of_the_page_print_what_it_says(tmp_path: Path) -> None:
    """L16, C9: upload, send, download and delete with curl, in one shell."""
    scripts = [block for block in blocks_of(PAGE, "sh") if "curl" in block.code]
    said = [
        block for block in blocks_of(PAGE, "json", "text") if block.language == "json" or block.mark == ANSWER
    ]
    with Server(tmp_path) as server:
        whole = SHELL + f"\necho\necho '{BETWEEN}'\n".join(script.code for script in scripts)
        printed = run_script(whole, server, tmp_path).split(f"{BETWEEN}\n")
    for block, output in zip(said, printed, strict=True):
        assert is_said(block, output), f"{block.place}: {output}"
