"""What the chat page costs the browser: 100 tokens a second into a session of 2,000 messages, traced by Chromium.

Scripting is the time JavaScript had the page's main thread, garbage collection included; the longest pause is between
two frames the page was given. The model is agio's own test server, the rest is real.
"""

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import Any

from origin import ROOT, say
from page import OUT
from playwright.async_api import Page, async_playwright, expect
from servers.subjects import NO_LIMITS

from agio.testing import ModelServer, Reply
from agio.testing.capture import ModelCall

MESSAGES = 2_000
TOKENS_PER_S = 100
WATCHED_S = 15
MOST_SCRIPTING = 0.30
LONGEST_PAUSE_MS = 100
PATIENCE_MS = 60_000
LONG = "Tell me everything"
WORDS = "The log is the truth and every page is a **view** of it, `folded` from events as they come. "
PASSAGE = (
    f"## A passage\n\n{WORDS * 4}\n\n1. one thing\n2. and *another*\n\n{WORDS * 2}\n\n"
    "```python\ndef fold(events):\n    return reduce(step, events, EMPTY)\n```\n\n"
)
SCRIPTING = frozenset(
    {
        "FunctionCall",
        "EvaluateScript",
        "v8.run",
        "v8.compile",
        "RunMicrotasks",
        "FireAnimationFrame",
        "TimerFire",
    }
    | {"MinorGC", "MajorGC", "V8.GCScavenger", "V8.GCFinalizeMC", "BlinkGC.AtomicPhase", "EventDispatch"}
)
CATEGORIES = [
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "v8",
    "blink.user_timing",
    "toplevel",
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
WATCH_FRAMES = """() => {
  window.pauses = [];
  let last = performance.now();
  const next = (now) => { window.pauses.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}"""


class NoBrowser(Exception):
    """There is no Chromium here."""


async def bench(messages: int = MESSAGES) -> dict[str, object]:
    """Fill a session, watch it stream, and count. Raises NoBrowser."""
    chromium = which("chromium") or which("chromium-browser") or which("google-chrome")
    if chromium is None:
        raise NoBrowser("install it with: apt-get install chromium")
    with tempfile.TemporaryDirectory(prefix="browser-", dir=OUT) as folder:
        async with (
            ModelServer() as models,
            async_playwright() as playwright,
            _server(Path(folder), models) as link,
        ):
            models.answer(_answer)
            browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = await browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(PATIENCE_MS)
            await page.goto(link)
            session = await _filled(page, messages)
            await page.goto(f"{_origin(link)}/chat/{session}")
            box = page.get_by_role("textbox", name="Message")
            await expect(box).to_be_visible()
            await expect(page.get_by_text(f"Message {messages // 2} of").last).to_be_visible(
                timeout=PATIENCE_MS
            )
            await box.fill(LONG)
            await box.press("Enter")
            await expect(page.get_by_text("The log is the truth").last).to_be_visible(timeout=PATIENCE_MS)
            await page.evaluate(WATCH_FRAMES)
            await browser.start_tracing(page=page, categories=CATEGORIES)
            await page.wait_for_timeout(WATCHED_S * 1000)
            trace = await browser.stop_tracing()
            pauses: list[float] = await page.evaluate("window.pauses")
            await browser.close()
    return {"messages": messages, "tokens_per_s": TOKENS_PER_S, **_figures(json.loads(trace), pauses)}


def render(measured: dict[str, Any]) -> str:
    """Say what was measured, and whether it is what we want."""
    fine = measured["scripting"] < MOST_SCRIPTING and measured["longest_pause_ms"] < LONGEST_PAUSE_MS
    busy = measured["longest_task_ms"] < LONGEST_PAUSE_MS <= measured["longest_pause_ms"]
    return (
        f"The chat page, {TOKENS_PER_S} tokens a second into a session of {measured['messages']:,} messages, "
        f"{measured['seconds']:.0f} s in headless Chromium:\n"
        f"  scripting        {measured['scripting']:.1%} of one core (aim: under {MOST_SCRIPTING:.0%})\n"
        f"  main thread      {measured['busy']:.1%} of one core, style, layout and paint included\n"
        f"  frames           {measured['frames']}, median {measured['median_pause_ms']:.0f} ms apart, "
        f"longest pause {measured['longest_pause_ms']:.0f} ms (aim: under {LONGEST_PAUSE_MS})\n"
        f"  longest task     {measured['longest_task_ms']:.0f} ms of processor time on the main thread\n"
        f"  {'as aimed for' if fine else 'NOT as aimed for'}"
        + (": the longest pause was not the page's own work" if busy else "")
    )


def _figures(trace: dict[str, Any], pauses: list[float]) -> dict[str, object]:
    events: list[dict[str, Any]] = trace["traceEvents"]
    thread = _main_thread(events)
    own = [event for event in events if (event["pid"], event["tid"]) == thread and event.get("ph") == "X"]
    tasks = [event for event in own if event["name"] in ("RunTask", "ThreadControllerImpl::RunTask")]
    scripts = [event for event in own if event["name"] in SCRIPTING]
    seconds = (max(e["ts"] for e in own) - min(e["ts"] for e in own)) / 1e6
    kept = sorted(pauses[1:])
    return {
        "seconds": seconds,
        "scripting": _covered(scripts) / seconds,
        "busy": _covered(tasks) / seconds,
        "frames": len(kept),
        "median_pause_ms": kept[len(kept) // 2],
        "longest_pause_ms": kept[-1],
        "longest_task_ms": max(event.get("tdur", 0) for event in tasks) / 1000,
    }


def _main_thread(events: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """The page's: of the renderers' main threads the one that animated most."""
    mains = {(e["pid"], e["tid"]) for e in events if e.get("args", {}).get("name") == "CrRendererMain"}
    animated = dict.fromkeys(mains, 0)
    for event in events:
        main = (event["pid"], event["tid"])
        if main in animated and event["name"] == "FireAnimationFrame":
            animated[main] += 1
    return max(animated, key=lambda main: animated[main])


def _covered(events: Iterable[dict[str, Any]]) -> float:
    """Seconds of processor time in the outermost of these events: what lies inside another counts once."""
    total, end = 0.0, 0.0
    for event in sorted(events, key=lambda event: (event["ts"], -event.get("dur", 0))):
        if event["ts"] >= end:
            total += event.get("tdur", event.get("dur", 0))
            end = event["ts"] + event.get("dur", 0)
    return total / 1e6


def _answer(call: ModelCall) -> Reply:
    asked = call.last_user_text
    if asked.startswith(LONG):
        return Reply(PASSAGE * 30, chunk_chars=5, pace_s=1 / TOKENS_PER_S)
    return Reply(f"{asked}: {WORDS * 3}\n\n- one\n- two\n", chunk_chars=400)


async def _filled(page: Page, messages: int) -> str:
    """Make a session with so many messages, half of them the model's; return its id."""
    say(f"filling a session with {messages:,} messages")
    body = {"name": "bench", "system_prompt": "x", "model_provider": "openai-chat", "model_name": "m"}
    agent = await _call(page, "POST", "/api/agents", body)
    session = await _call(page, "POST", f"/api/agents/{agent['id']}/sessions", {})
    path = f"/api/agent-sessions/{session['id']}"
    half = messages // 2
    for number in range(1, half + 1):
        await _call(page, "POST", f"{path}/message", {"content": f"Message {number} of {half}"})
    while (await _call(page, "GET", f"{path}/status"))["state"] != "idle":
        await page.wait_for_timeout(200)
    return str(session["id"])


async def _call(page: Page, method: str, path: str, body: object = None) -> Any:
    headers = {"origin": _origin(page.url)}
    options: dict[str, Any] = {} if body is None else {"data": body}
    answered = await page.request.fetch(_origin(page.url) + path, method=method, headers=headers, **options)
    if not answered.ok:
        raise SystemExit(f"{method} {path}: {await answered.text()}")
    return await answered.json()


def _origin(url: str) -> str:
    return "/".join(url.split("/")[:3])


@asynccontextmanager
async def _server(folder: Path, models: ModelServer) -> AsyncIterator[str]:
    """Run agio on a free port; gives its sign-in link."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "OPENAI_BASE_URL": models.base_url("openai-chat"),
        "OPENAI_API_KEY": "test-key",
        "AGIO_LIMITS": json.dumps(NO_LIMITS),
    }
    command = [sys.executable, "-m", "agio.cli.main", "serve", "--port", "0", "--data", str(folder / "data")]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        while line := (await process.stdout.readline()).decode():
            if found := re.search(r"sign in(?: once)?:\s+(http\S+)", line):
                yield found[1]
                break
        else:
            raise SystemExit("agio did not start")
    finally:
        process.terminate()
        await process.wait()
