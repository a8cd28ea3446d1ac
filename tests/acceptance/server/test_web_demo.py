"""examples/web_demo as a newcomer meets it: one command, a page in a real browser, an agent with a tool."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.support.command import WAIT_S
from tests.support.ports import free_port
from tests.support.process import Server

FOLDER = Path(__file__).parents[3] / "examples" / "web_demo"
CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[str]:
    """The demo, running; its page's address."""
    page_port, agio_port = free_port(), free_port()
    ports = {"PORT": str(page_port), "AGIO_PORT": str(agio_port)}
    program = [sys.executable, str(FOLDER / "server.py")]
    with Server(tmp_path, program=program, environment=ports) as server:
        server.expect_error("Uvicorn running on")
        yield f"http://127.0.0.1:{page_port}"
        assert server.stop(signal.SIGINT) == 0


def say(page: Page, text: str) -> None:
    page.fill("input", text)
    page.press("input", "Enter")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_person_talks_to_the_agent_of_the_module(demo: str) -> None:
    """L15, B8: text and tool calls stream onto the page; what is taken back is gone; errors are shown."""
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(WAIT_S * 1000)
        expect.set_options(timeout=WAIT_S * 1000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(demo)
        say(page, "stock tulips")
        expect(page.locator(".tool")).to_have_text('stock {"flower":"tulips"} → 12 tulips left')
        expect(page.locator(".agent")).to_contain_text("it only repeats what the tool said.)")
        say(page, "be flaky")
        expect(page.locator(".agent").last).to_contain_text("it is whole.")
        assert "This answer will not" not in page.locator("#talk").inner_text()
        assert page.locator(".user").all_inner_texts() == ["stock tulips", "be flaky"]
        say(page, "fail")
        expect(page.locator(".error")).to_contain_text("[demo_failure]")
        browser.close()
    assert complaints == []


@pytest.mark.parametrize("started_by", ["the demo", "make run"])
def test_a_server_ends_with_the_program_that_was_killed(started_by: str, tmp_path: Path) -> None:
    """L15: the port and the store are free again."""
    if started_by == "make run":
        if which("setpriv") is None or which("make") is None:
            pytest.skip("make run needs setpriv for this")
        old = ["-o", ".venv/.run", "-o", "src/agio/gateway/pages/dist/index.html"]
        program = ["make", "-C", str(FOLDER.parents[1]), "run", *old, "PORT=0", f"DATA={tmp_path / 'data'}"]
    else:
        program = [sys.executable, str(FOLDER / "server.py")]
    ports = {"PORT": str(free_port()), "AGIO_PORT": str(free_port())} if started_by == "the demo" else {}
    with Server(tmp_path, program=program, environment=ports) as server:
        server.stop(signal.SIGKILL)
        server.output()  # ends when the last process with this standard output has ended


def test_the_demo_is_small() -> None:
    """L15: one page and one module, each of which can be read in minutes."""
    assert len((FOLDER / "server.py").read_text().splitlines()) < 100
    assert len((FOLDER / "index.html").read_text().splitlines()) < 130
