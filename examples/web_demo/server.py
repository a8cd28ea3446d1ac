"""A web page that talks to an agent of yours: the page asks this server, this server asks agio with its key.

python examples/web_demo/server.py
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import cast
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import uvicorn
from fastapi import FastAPI
from fastapi import Request as PageRequest
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse

from agio import Agent, tool

PORT = int(os.environ.get("PORT", "8080"))
AGIO_PORT = int(os.environ.get("AGIO_PORT", "8700"))
AGIO = f"http://127.0.0.1:{AGIO_PORT}"
KEY = secrets.token_urlsafe(32)


@tool(effect="read")
def stock(flower: str) -> str:
    """Say how many stems of a flower are left in the shop.

    Args:
        flower: The name of the flower, such as `tulips`.
    """
    left = {"tulips": 12, "roses": 3}.get(flower.lower(), 0)
    return f"{left} {flower} left"


# agio finds this agent because it is started with `--app server.py`. With a key, say `model="openai:gpt-5"`.
florist = Agent("florist", "You sell flowers. Look into the stock before you promise any.", tools=[stock])

page = FastAPI()


@page.get("/")
def index() -> FileResponse:
    return FileResponse(Path(__file__).with_name("index.html"))


@page.post("/chat")
async def chat(request: PageRequest) -> Response:
    """Hand the page's AG-UI request on to agio, and agio's events back. Check here who is asking."""
    try:
        events = await asyncio.to_thread(ask_agio, await request.body())
    except HTTPError as refusal:
        return Response(refusal.read(), refusal.code, media_type="application/json")
    except URLError:
        return JSONResponse({"error": {"message": "agio is not there. Try again in a moment."}}, 503)
    return StreamingResponse(pieces_of(events), media_type="text/event-stream")


def ask_agio(body: bytes) -> HTTPResponse:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    found = json.load(urlopen(Request(f"{AGIO}/api/agents?search={florist.spec.name}", headers=headers)))
    agent = found["items"][0]["id"]
    return cast(HTTPResponse, urlopen(Request(f"{AGIO}/api/agents/{agent}/ag-ui", body, headers)))


def pieces_of(events: HTTPResponse) -> Iterator[bytes]:
    with events:
        while piece := events.read1():
            yield piece


if __name__ == "__main__":
    serve = [sys.executable, "-m", "agio.cli.main", "serve", "--port", str(AGIO_PORT), "--app", __file__]
    # Its standard input closes when this process ends, even when it is killed: then agio ends too.
    serve += ["--until-stdin-ends"]
    with tempfile.TemporaryDirectory() as data:
        env = {**os.environ, "AGIO_BOOTSTRAP_API_KEY": KEY}
        agio = subprocess.Popen([*serve, "--data", data], env=env, stdin=subprocess.PIPE)
        try:
            uvicorn.run(page, port=PORT)
        finally:
            agio.terminate()
            agio.wait()
