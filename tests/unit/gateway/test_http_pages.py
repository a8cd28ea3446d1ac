"""The plain page: its files, and what a browser is told about them."""

import re
from importlib.resources import files

from hatchling.builders.wheel import WheelBuilder

from agio.gateway.auth import COOKIE
from agio.gateway.pages import ASSETS
from tests.docs.pages import ROOT
from tests.unit.gateway.house import code_of, house

PAGES = files("agio.gateway.pages")
NAMES = (
    *ASSETS,
    "index.html",
    "sign-in.html",
    "sign-in-failed.html",
    "link-over.html",
    "set-up.html",
    "invitation.html",
)


async def test_the_page_and_its_files_are_served_to_anybody() -> None:
    """C8: signing in begins there; the page itself is for whoever is signed in."""
    async with house() as place, place.client(None) as client, place.client() as ann:
        assert "You are not signed in" in (await client.get("/")).text
        page = await ann.get("/")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        for name in ASSETS:
            asset = await client.get(f"/assets/{name}")
            assert asset.status_code == 200
            assert asset.content == PAGES.joinpath(name).read_bytes()
            assert asset.headers["content-type"].split(";")[0] in (
                "text/css",
                "text/javascript",
                "image/svg+xml",
            )
        used = re.findall(r'(?:href|src)="(/assets/[^"]+)"', page.text)
        assert used
        assert {name.removeprefix("/assets/") for name in used} <= set(ASSETS)


async def test_the_page_may_load_nothing_from_elsewhere_and_run_nothing_inline() -> None:
    """C8: a strict policy, on the page, its files and the sign-in page."""
    async with house() as place, place.client(None) as client:
        for path in ("/", "/assets/app.js", "/sign-in?token=wrong", "/invitation"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'")
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert (headers["x-content-type-options"], headers["referrer-policy"]) == (
                "nosniff",
                "no-referrer",
            )


def test_the_files_use_nothing_from_elsewhere_and_no_markup_from_text() -> None:
    """C8: it works offline; what a model says is never markup."""
    for name in NAMES:
        text = PAGES.joinpath(name).read_text()
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
        assert addresses == set(), name
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            " style=",
            "onclick=",
        ):
            assert way not in text or (way == "onclick=" and name.endswith(".js")), (name, way)
        if name.endswith(".html"):
            assert not re.search(r"<script(?![^>]*src=)", text)
            assert "<style" not in text


def test_the_files_are_in_the_wheel() -> None:
    """L15: what is installed can show the page."""
    builder = WheelBuilder(str(ROOT))
    packed = {file.distribution_path for file in builder.recurse_included_files()}
    for name in NAMES:
        assert f"agio/gateway/pages/{name}" in packed


def test_every_file_is_served() -> None:
    """C8: none is left over, none is missing."""
    there = {file.name for file in PAGES.iterdir() if "." in file.name and not file.name.endswith(".py")}
    assert there == set(NAMES)


async def test_pages_say_in_our_shape_that_the_store_is_away() -> None:
    """S14: whoever shows a cookie gets a code, and nobody a bare error."""
    async with house() as place, place.client(None, {"cookie": f"{COOKIE}={'a' * 43}"}) as client:
        await place.store.close()
        for path in ("/", "/set-up"):
            assert code_of(await client.get(path)).startswith("store_"), path
