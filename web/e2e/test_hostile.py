"""Markup and addresses from models, tools and people: nothing runs, nothing is fetched, nothing is taken for ours."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect

from agio.core.name import seen
from agio.testing import Call, Reply
from agio.testing.capture import ModelCall
from web.e2e.payloads import PAYLOADS
from web.e2e.scene import Scene, needs_chromium, process_scene, scene, slow
from web.e2e.tour import settled

pytestmark = [needs_chromium, slow]

WATCH = """
window.__ran = 0;
window.alert = window.confirm = window.prompt = () => { window.__ran = 1; };
"""
INSPECT = """() => {
  const page = document.getElementById('root');
  const bad = [];
  const tags = 'script, iframe, object, embed, link, meta, base, style, video, audio, portal, frame';
  for (const found of page.querySelectorAll(tags))
    bad.push(found.outerHTML.slice(0, 200));
  for (const found of page.querySelectorAll('*')) {
    for (const { name, value } of found.attributes) {
      const place = value.trim().replace(/[\\u0000-\\u0020]/g, '').toLowerCase();
      if (name.startsWith('on')) bad.push(name + '=' + value);
      if (['href', 'src', 'xlink:href', 'action', 'formaction', 'srcset', 'data', 'poster', 'ping'].includes(name)) {
        if (/^(javascript|vbscript|data:text|data:image\\/svg|file|blob|feed)/.test(place))
          bad.push(name + '=' + value);
        if (name !== 'href' && /^(https?:)?\\/\\//.test(place)) bad.push(name + '=' + value);
      }
    }
  }
  return { bad, ran: window.__ran };
}"""
MODULE = '''
from agio import Agent, tool

@tool(effect="read")
def repeat(number: int) -> str:
    """Say something somebody else wrote."""
    from web.e2e.payloads import PAYLOADS
    return "\\n\\n".join(PAYLOADS[number * 20 : number * 20 + 20])

@tool(approval="ask")
def shell(command: str) -> str:
    """Run a command."""
    return "done"
'''
HIDDEN = [
    "ls" + "\n" * 60 + "rm -rf /",
    "ls" + " " * 5_000 + "; rm -rf /",
    "\n".join(["ls"] * 60) + "\nrm -rf /",
]
"""Commands whose end is far away."""
A_MESSAGE = 20
_REPEATED = json.loads((Path(__file__).parent / "hostile-texts.json").read_text())
_ALLOWED = {"*_": 2, "]": 1, "~a": 1, "a\n=\n": 3}
LONG = [
    *(before + unit * (64_000 // len(unit)) + after for before, unit, after in _REPEATED),
    *((unit * (2_400 // signs) + "\n\n") * 20 for unit, signs in _ALLOWED.items()),
]
"""The last ones in blocks that are just not too much to be parsed."""


def evil(call: ModelCall) -> Reply:
    """Say payloads; when asked to, let a tool say them."""
    asked = call.last_user_text
    if asked.startswith("shell ") and not call.tool_results:
        return Reply(tool_calls=[Call("shell", {"command": HIDDEN[int(asked[6:])]})])
    if asked.startswith("tool ") and not call.tool_results:
        return Reply(tool_calls=[Call("repeat", {"number": int(asked[5:])})])
    return Reply(
        asked if asked.startswith("say") else "done", reasoning=asked if asked.startswith("say") else ""
    )


def endless(call: ModelCall) -> Reply:
    """Say one of the long texts."""
    return Reply(LONG[int(call.last_user_text)], chunk_chars=8_000)


async def clean(page: Page) -> None:
    """Look at everything there is on a page."""
    seen = await page.evaluate(INSPECT)
    assert seen == {"bad": [], "ran": 0}


async def ready(here: Scene, tools: Sequence[str] = ()) -> tuple[Page, str]:
    page = await here.visitor()
    await page.add_init_script(WATCH)
    agent = await here.make_agent(page, tools=list(tools))
    session = await here.call(page, "POST", f"/api/agents/{agent}/sessions", {})
    return page, str(session["id"])


async def told(here: Scene, page: Page, session: str, texts: list[str]) -> None:
    """Send messages, wait for their answers, and open the chat."""
    for text in texts:
        sent = await here.call(page, "POST", f"/api/agent-sessions/{session}/message", {"content": text})
        await here.ended(page, sent["run_id"])
    await page.goto(f"{here.url}/chat/{session}")
    await expect(page.get_by_role("article", name="Answer").first).to_be_attached()


async def unfold(page: Page) -> None:
    """Open every card that can be opened, and look at each part of the conversation."""
    for _ in range(40):
        closed = page.locator('main [aria-expanded="false"]:not([aria-haspopup])')
        if await closed.count() == 0:
            return
        await closed.first.click()


async def test_what_models_say_stays_words(tmp_path: Path) -> None:
    """C8: two hundred payloads in messages, in answers as Markdown, and in reasoning."""
    async with scene(tmp_path, evil) as here:
        page, session = await ready(here)
        texts = [
            "say\n\n" + "\n\n".join(PAYLOADS[at : at + A_MESSAGE])
            for at in range(0, len(PAYLOADS), A_MESSAGE)
        ]
        for text in texts:
            await told(here, page, session, [text])
            await expect(page.get_by_role("article", name="Answer").last).to_be_visible()
            await unfold(page)
            await clean(page)


async def test_what_tools_say_stays_words(tmp_path: Path) -> None:
    """C8: two hundred payloads in the results of tools, on the chat and on the run's page."""
    (tmp_path / "module.py").write_text(MODULE)
    arguments = ("--app", str(tmp_path / "module.py"))
    async with process_scene(
        tmp_path, evil, {"PYTHONPATH": str(Path(__file__).parents[2])}, arguments
    ) as here:
        page, session = await ready(here, ["repeat"])
        for number in range(len(PAYLOADS) // 20):
            await told(here, page, session, [f"tool {number}"])
            await expect(page.get_by_role("article", name="Answer").last).to_be_visible()
            await unfold(page)
            await clean(page)
        runs = await here.call(page, "GET", f"/api/runs?session_id={session}&limit=3")
        for run in runs["items"]:
            await page.goto(f"{here.url}/runs/{run['id']}")
            await expect(page.get_by_role("tab").first).to_be_visible()
            for tab in await page.get_by_role("tab").all():
                await tab.click()
                await settled(page)
                await unfold(page)
                await clean(page)


async def test_nobody_approves_what_they_do_not_see(tmp_path: Path) -> None:
    """C8, B7: an end behind blanks is beside its beginning; one behind many lines is said to be there, and shown."""
    (tmp_path / "module.py").write_text(MODULE)
    async with process_scene(tmp_path, evil, arguments=("--app", str(tmp_path / "module.py"))) as here:
        page, _ = await ready(here)
        agent = await here.make_agent(page, "Shell", tools=["shell"])
        for number in range(len(HIDDEN)):
            session = await here.call(page, "POST", f"/api/agents/{agent}/sessions", {})
            await told(here, page, str(session["id"]), [f"shell {number}"])
            await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
            if number == len(HIDDEN) - 1:
                await expect(page.get_by_text(re.compile("6[0-9] lines: "))).to_be_in_viewport()
                await page.get_by_role("button", name="Show all").click()
            shown = page.get_by_role("group", name="Arguments")
            await expect(shown).to_contain_text("rm -rf /")
            assert await shown.evaluate("box => box.scrollHeight <= box.clientHeight")


async def test_names_stay_words(tmp_path: Path) -> None:
    """C8: two hundred payloads as names and descriptions of agents and titles of chats, wherever they are shown."""
    async with scene(tmp_path, evil) as here:
        page, _ = await ready(here)
        agent = ""
        for number, payload in enumerate(PAYLOADS):
            name = f"{seen(payload[:90]) or 'x'} {number}"
            agent = await here.make_agent(page, name, description=payload, status="active")
            if number % 4 == 0:
                await here.call(page, "POST", f"/api/agents/{agent}/sessions", {"title": payload[:200]})
        for path in ("/agents", "/chat", f"/chat?agent={agent}", f"/agents/{agent}", "/runs", "/tools"):
            await page.goto(f"{here.url}{path}")
            await expect(page.get_by_role("heading", level=1).first).to_be_visible()
            await settled(page)
            await clean(page)


async def test_no_text_freezes_a_page(tmp_path: Path) -> None:
    """C8: more than fifty texts of 64 kB, each made to keep a parser busy, are drawn in less than two seconds."""
    async with scene(tmp_path, endless) as here:
        page = await here.visitor()
        agent = await here.make_agent(page)
        devtools: Any = await page.context.new_cdp_session(page)
        # The time of its own thread: how busy the machine is otherwise does not count.
        await devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        took: dict[str, float] = {}
        for number, text in enumerate(LONG):
            session = await here.call(page, "POST", f"/api/agents/{agent}/sessions", {})
            await told(here, page, str(session["id"]), [str(number)])
            await page.evaluate("new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))")
            measured = await devtools.send("Performance.getMetrics")
            took[text[:40]] = {one["name"]: one["value"] for one in measured["metrics"]}["TaskDuration"]
        assert {text: seconds for text, seconds in took.items() if seconds > 2} == {}
