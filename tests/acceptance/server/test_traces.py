"""Traces of a real server that is killed while it sends them."""

import asyncio
from pathlib import Path

import httpx

from tests.support.collector import collecting
from tests.support.process import KEY, Server

WAIT_S = 60.0


async def test_a_server_killed_while_it_sends_traces_loses_none_and_repeats_no_id(tmp_path: Path) -> None:
    """R10, L6: what was under way is sent by the next process, under the same ids."""
    async with collecting() as collector:
        environment = {
            "OPENAI_TRACES_ENDPOINT": f"{collector.url}/v1/traces/ingest",
            "AGIO_LIMITS": '{"traces_s": 0.1, "job_lease_s": 1}',
        }
        collector.answers = [None]
        headers = {"authorization": f"Bearer {KEY}"}
        server = await asyncio.to_thread(Server(tmp_path, environment=environment).__enter__)
        try:
            async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=WAIT_S) as http:
                [agent, *_] = (await http.get("/api/agents")).json()["items"]
                body = {"agent": agent["id"], "input": "Hello"}
                answer = await http.post("/api/agent/run", json=body)
                assert answer.json()["status"] == "completed", answer.text
                await collector.wait_for(refused=1)
        finally:
            server.process.kill()
            await asyncio.to_thread(server.__exit__, None, None, None)
        server = await asyncio.to_thread(Server(tmp_path, environment=environment).__enter__)
        try:
            await collector.wait_for(1)
        finally:
            server.process.terminate()
            await asyncio.to_thread(server.__exit__, None, None, None)
        assert len(collector.posts) == 1
        assert collector.posts[0].body == collector.refused[0].body
