"""agio as a client under the official conformance suite, whose servers nobody here wrote."""

import sys
from pathlib import Path

import pytest

from agio.gateway.routes.mcp import connections
from tests.support.conformance import REVISIONS, run_conformance
from tests.support.mcp_house import mcp_house

PUBLIC_URL = "https://conformance-test.local"
"""Where the suite expects the client's metadata document to be."""


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_conformance_suite_finds_only_what_is_expected(
    revision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C4: each requirement of the revision on tools, transports and OAuth holds, in either era."""
    monkeypatch.setattr(connections, "DOCUMENT_PATH", "/client-metadata.json")
    for name in ("plain", "document"):
        (tmp_path / name).mkdir()
    async with (
        mcp_house(tmp_path / "plain", allow="localhost") as plain,
        mcp_house(tmp_path / "document", allow="localhost", public_url=PUBLIC_URL) as document,
    ):
        monkeypatch.setenv("SUITE_AGIO", plain.server.url)
        monkeypatch.setenv("SUITE_AGIO_WITH_DOCUMENT", document.server.url)
        command = f"{sys.executable} -m tests.support.mcp_suite_client"
        found = await run_conformance("client", revision, "--command", command, "--timeout", "120000")
    assert found.as_expected, found.report
