"""Sends a run to OpenAI's dashboard with the key in OPENAI_API_KEY, and prints its address: `make live`."""

import os
import sys
import tempfile
import time
from pathlib import Path

import httpx

from tests.support.process import KEY, Server

WAIT_S = 60.0


def main() -> None:
    """Run the demo agent, wait until its trace was taken, and print where it is."""
    key = os.environ.get("OPENAI_API_KEY")
    if not key:
        sys.exit("Set OPENAI_API_KEY: the trace of a short run of the offline demo agent is sent with it.")
    headers = {"authorization": f"Bearer {KEY}"}
    environment = {"OPENAI_API_KEY": key, "AGIO_LIMITS": '{"traces_s": 0.5}'}
    with (
        tempfile.TemporaryDirectory(prefix="live-") as folder,
        Server(Path(folder), environment=environment) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=WAIT_S) as http,
    ):
        run = http.post("/api/agent/run", json={"agent": "demo", "input": "Hello"}).json()["id"]
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            [service] = http.get("/api/observability").json()["services"]
            for account in service["accounts"]:
                if account["sent"]:
                    [link] = http.get(f"/api/runs/{run}/trace").json()["links"]
                    print(f"OpenAI took the trace: {link['url']}")
                    return
                if account["error_message"]:
                    sys.exit(f"OpenAI did not take it: {account['error_message']}")
            time.sleep(0.2)
    sys.exit("The trace was neither taken nor refused.")


if __name__ == "__main__":
    main()
