"""`/mcp` under the official conformance suite, with the tools the suite calls beside the agents."""

from pathlib import Path

import pytest

from agio.gateway.doors import table
from tests.support.conformance import REVISIONS, run_conformance
from tests.support.mcp_fixtures import fixture_server
from tests.support.served import KEY, served

PROVEN = {
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "dns-rebinding-protection",
}
"""What no list of expected failures may have."""


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_conformance_suite_finds_only_what_is_expected(
    revision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B8: each requirement of the revision holds, but for optional features that agio does not offer."""
    doors = [door for door in table.DOORS if door.path != "/mcp"]
    monkeypatch.setattr(table, "DOORS", [*doors, table.Door("POST", "/mcp", fixture_server(KEY))])
    async with served(tmp_path) as server:
        found = await run_conformance("server", revision, "--url", f"{server.url}/mcp")
    assert found.as_expected, found.report
    assert {name for name, scenario in found.scenarios.items() if not scenario.failed} >= PROVEN
