"""The pages: their files, how they are handed out, and what a browser is told about them."""

import gzip
import html
import re
from importlib.resources import files

import httpx
import msgspec
import pytest
from hatchling.builders.wheel import WheelBuilder

from agio.gateway.pages import PAGES
from tests.support.house import code_of, house
from tests.support.pages import ROOT

DIST = files("agio.gateway.pages").joinpath("dist")
ASSETS = sorted(
    file.name for file in DIST.joinpath("assets").iterdir() if not file.name.endswith((".br", ".gz"))
)
CHAT_BUDGET_BYTES = 250_000
BROWSER = {"accept": "text/html,application/xhtml+xml"}


def told(page: httpx.Response) -> dict[str, str] | None:
    """Return the problem a page has to tell."""
    found = re.search(r'<meta name="agio-problem" content="([^"]*)"', page.text)
    assert found is not None
    return msgspec.json.decode(html.unescape(found[1])) if found[1] else None


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_is_the_same_document(path: str) -> None:
    """C8: which page it shows is decided in the browser; a deep link works without having been anywhere before."""
    async with house() as place, place.client(None) as client:
        page = await client.get(re.sub(r"\{\w+\}", "ses_1", path), headers=BROWSER)
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert told(page) is None
        used = re.findall(r'(?:href|src)="/assets/([^"]+)"', page.text)
        assert used
        assert set(used) <= set(ASSETS)


async def test_files_never_change_under_their_name_and_come_compressed() -> None:
    """C8: a browser asks for a file once; it is small on its way."""
    async with house() as place, place.client(None) as client:
        for name in ASSETS:
            whole = DIST.joinpath(f"assets/{name}").read_bytes()
            plain = await client.get(f"/assets/{name}", headers={"accept-encoding": "identity"})
            assert (plain.status_code, plain.content) == (200, whole)
            assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert "content-encoding" not in plain.headers
            if name.endswith((".js", ".css")):
                for coding in ("br", "gzip"):
                    async with client.stream(
                        "GET", f"/assets/{name}", headers={"accept-encoding": coding}
                    ) as sent:
                        raw = b"".join([piece async for piece in sent.aiter_raw()])
                        assert sent.headers["content-encoding"] == coding
                        assert sent.headers["vary"] == "accept-encoding"
                        assert coding == "br" or gzip.decompress(raw) == whole
                for refused in ("br;q=0", "gzip; q=0.000, identity", "br;Q=0,identity"):
                    sent = await client.get(f"/assets/{name}", headers={"accept-encoding": refused})
                    assert ("content-encoding" in sent.headers, sent.content) == (False, whole)
        for name in ("nothing.js", "index.html", "%2e%2e%2findex.html"):
            assert code_of(await client.get(f"/assets/{name}")) == "not_found"


async def test_a_page_may_load_nothing_from_elsewhere_and_run_nothing_inline() -> None:
    """C8: a strict policy, with a new word for the styles of each answer."""
    async with house() as place, place.client(None) as client:
        nonces: set[str] = set()
        for path in ("/", "/chat/ses_1", "/sign-in", "/sign-in?token=wrong", "/nowhere"):
            page = await client.get(path, headers=BROWSER)
            policy = page.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self';")
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert page.headers["referrer-policy"] == "no-referrer"
            assert page.headers["x-content-type-options"] == "nosniff"
            assert page.headers["cache-control"] == "no-store"
            nonce = re.search(r"'nonce-([\w-]+)'", policy)
            assert nonce is not None
            assert f'content="{nonce[1]}"' in page.text
            nonces.add(nonce[1])
        assert len(nonces) == 5


async def test_an_address_where_nothing_is_shows_a_page_to_a_person_and_a_code_to_a_program() -> None:
    """C8: both learn that there is nothing."""
    async with house() as place, place.client(None) as client:
        page = await client.get("/nowhere/at/all", headers=BROWSER)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert code_of(await client.get("/nowhere/at/all")) == "not_found"
        assert code_of(await client.get("/api/nowhere", headers=BROWSER)) == "not_found"
        assert code_of(await client.post("/nowhere", headers=BROWSER)) == "not_found"


async def test_a_link_that_is_over_says_so_on_the_page() -> None:
    """R2: the page tells what to do instead; what it tells is no markup."""
    async with house() as place, place.client(None) as client:
        page = await client.get("/sign-in?token=wrong", headers=BROWSER)
        assert page.status_code == 403
        problem = told(page)
        assert problem is not None
        assert problem["code"] == "sign_in_link_over"
        assert "agio keys sign-in" in problem["message"]


def test_the_files_name_no_other_place() -> None:
    """C8: it works offline. What a browser could fetch from elsewhere is in no file but as words for people."""
    page = DIST.joinpath("index.html").read_text()
    assert re.findall(r"https?:", page) == []
    assert not re.search(r"<script(?![^>]*src=)|<style| style=| on\w+=", page)
    for name in ASSETS:
        if name.endswith(".css"):
            text = DIST.joinpath(f"assets/{name}").read_text()
            assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", text) == []


def test_the_chat_page_is_light() -> None:
    """C8: what the chat page loads of JavaScript, with colours for code, is under 250 KB as it is sent."""
    first = re.findall(r'src="/assets/([^"]+\.js)"', DIST.joinpath("index.html").read_text())
    chat = [name for name in ASSETS if re.match(r"chat-page-.*\.js$", name)]
    assert len(chat) == 1
    colours = [name for name in ASSETS if re.match(r"highlight-.*\.js$", name)]
    loaded = _reached([*first, *chat, *colours])
    sizes = {name: len(DIST.joinpath(f"assets/{name}.br").read_bytes()) for name in loaded}
    assert sum(sizes.values()) < CHAT_BUDGET_BYTES, sizes


def _reached(names: list[str]) -> set[str]:
    """Return these files and all that they import at once; what is loaded later, when it is needed, is not counted."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        text = DIST.joinpath(f"assets/{name}").read_text()
        waiting += re.findall(r'(?:from|import)\s*"\./([^"]+\.js)"', text)
    return reached


def test_the_files_are_in_the_wheel() -> None:
    """L15: what is installed can show the pages."""
    builder = WheelBuilder(str(ROOT))
    packed = {file.distribution_path for file in builder.recurse_included_files()}
    for name in ("index.html", "icon.svg", *(f"assets/{name}" for name in ASSETS)):
        assert f"agio/gateway/pages/dist/{name}" in packed
