"""The model server as a process of its own."""

import http.client
import json
import subprocess
from pathlib import Path

from environments import environment_python

HERE = Path(__file__).parent


class ModelServer:
    """The model everyone asks; `control` says what it answers next."""

    def __init__(self) -> None:
        command = [environment_python("model-server"), HERE / "model_server.py"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())
        self.base_url = f"http://127.0.0.1:{self.port}/v1"

    def control(self, tokens: int, pace_ms: float) -> dict[str, int]:
        """Set the next answers; returns the turns served since the last time."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("POST", "/control", json.dumps({"tokens": tokens, "pace_ms": pace_ms}))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate()
