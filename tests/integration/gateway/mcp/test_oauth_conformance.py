"""Connecting under the official conformance suite, whose authorization servers nobody here wrote."""

import sys

import pytest

from tests.support.conformance import run_scenario

SCENARIOS = (
    *("metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "scope-from-www-authenticate"),
    *("token-endpoint-auth-basic", "token-endpoint-auth-post", "offline-access-scope"),
    *("resource-mismatch", "metadata-issuer-mismatch", "iss-supported-missing", "iss-wrong-issuer"),
)


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_suite_finds_nothing_wrong(scenario: str) -> None:
    """C4: discovery in each of its forms, scopes, ways to authenticate, and servers that must be refused."""
    found = await run_scenario(f"auth/{scenario}", f"{sys.executable} -m tests.support.mcp_oauth_client")
    assert found.scenarios["checks"].failed == 0, found.report
    assert found.scenarios["checks"].passed > 0, found.report
