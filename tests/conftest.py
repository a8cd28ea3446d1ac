"""Fixtures every test may use."""

from collections.abc import Iterator

import pytest

from tests.official import OfficialVerifier


@pytest.fixture(scope="session")
def official() -> Iterator[OfficialVerifier]:
    """The official AG-UI client, started once for each test process."""
    verifier = OfficialVerifier()
    yield verifier
    verifier.close()
