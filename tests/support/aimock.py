"""aimock, a model server nobody here wrote, running under Node for as long as a test needs it."""

import select
from collections.abc import Sequence

import msgspec
import pytest

from agio.drivers.endpoint import Endpoint
from agio.protocol.messages import Json
from tests.support.node import start_node

START_TIMEOUT_S = 90
_PATHS = {"openai-chat": "/v1", "openai": "/v1", "anthropic": "", "gemini": ""}


class Aimock:
    """One server that answers all wire formats from the same fixtures."""

    def __init__(self, fixtures: Sequence[Json]) -> None:
        self._process = start_node("aimock.mjs", "@copilotkit/aimock")
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(msgspec.json.encode(fixtures) + b"\n")
        stdin.flush()
        ready = select.select([stdout], [], [], START_TIMEOUT_S)[0]
        self._port = stdout.readline().strip().decode() if ready else ""
        if not self._port:
            self.close()
            pytest.fail(f"aimock did not start within {START_TIMEOUT_S} s.")

    def endpoint(self, wire: str) -> Endpoint:
        """Return the endpoint to give to a driver of this wire format."""
        return Endpoint(base_url=f"http://127.0.0.1:{self._port}{_PATHS[wire]}", api_key="test-key")

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=START_TIMEOUT_S)
