"""docs/operations.md says what the source says."""

import json
from pathlib import Path

from agio.db.audited import AUDITED
from tests.support.pages import ROOT, blocks_of, rows_under, unquoted
from tests.support.process import Server, send, start_session

PAGE = ROOT / "docs" / "operations.md"


def test_every_action_of_the_audit_log_is_on_the_page() -> None:
    """B11: and no other."""
    assert sorted(unquoted(row[0]) for row in rows_under(PAGE, "The audit log")) == sorted(AUDITED)


def test_the_example_of_a_line_has_the_fields_a_line_has(tmp_path: Path) -> None:
    """S13: a real line of the same request, and the table that explains it."""
    [block] = blocks_of(PAGE, "json")
    shown = json.loads(block.code)
    with Server(tmp_path) as server, server.client() as client:
        client.headers["x-request-id"] = "from.browser-1"
        send(client, start_session(client), "hello")
        server.stop()
    lines = [json.loads(line) for line in server.errors.splitlines()]
    [real] = [line for line in lines if line.get("run_id") and line["logger"] == "agio.access"]
    assert list(real) == list(shown)
    explained = {unquoted(row[0]) for row in rows_under(PAGE, "Logs")}
    text = PAGE.read_text()
    assert all(field in explained or f"`{field}`" in text for field in real)
