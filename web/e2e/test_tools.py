"""An HTTP tool from nothing to an answer: made, tried, given to an agent, used in a chat, taken away."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import expect

from agio.testing import Call, Reply
from agio.testing.capture import ModelCall
from web.e2e.scene import needs_chromium, process_scene, say, slow

pytestmark = [needs_chromium, slow]


@asynccontextmanager
async def weather() -> AsyncGenerator[str]:
    """Serve the weather of any city on loopback."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        city = re.search(r"city=(\w+)", head)
        body = b'{"report": {"sky": "clear over %s"}}' % (city[1] if city else "nowhere").encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(body), body)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def forecaster(call: ModelCall) -> Reply:
    """Ask the tool, then say what it said."""
    if call.tool_results:
        return Reply(
            "The sky is clear." if "clear over Vienna" in call.tool_results[0].text else "Who knows?"
        )
    return Reply(tool_calls=[Call("weather", {"city": "Vienna"})])


async def test_a_tool_is_made_tried_given_and_used(tmp_path: Path) -> None:
    """C3, C8: with what was sent and what came back in the console; deleting it says who had it."""
    async with (
        weather() as service,
        process_scene(tmp_path, forecaster, {"AGIO_EGRESS_ALLOW": "127.0.0.1"}) as here,
    ):
        page = await here.visitor()
        agent = await here.make_agent(page, "Forecaster")
        await page.goto(f"{here.url}/tools/new")
        await page.get_by_label("Name", exact=True).first.fill("weather")
        await page.get_by_label("Description", exact=True).first.fill("Tell the weather of a city.")
        await page.get_by_label("URL", exact=True).fill(f"{service}/weather?city={{city}}")
        await page.get_by_role("button", name="Add parameters").click()
        await page.get_by_role("button", name="Create tool").click()
        await expect(page.get_by_role("heading", name="weather", exact=True)).to_be_visible()
        trial = page.locator("form").filter(has=page.get_by_role("button", name="Run", exact=True))
        await trial.get_by_label("city").fill("Vienna")
        await trial.get_by_role("button", name="Run", exact=True).click()
        await expect(page.get_by_text(re.compile("clear over Vienna")).first).to_be_visible()
        given = page.get_by_role("switch", name="Forecaster")
        await given.click()
        await expect(given).to_be_checked()
        await expect(given).to_be_enabled()  # which it is again once it is saved
        await page.goto(f"{here.url}/chat?agent={agent}")
        await say(page, "How is the weather?")
        await expect(page.get_by_text("The sky is clear.")).to_be_visible()
