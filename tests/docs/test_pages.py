"""The code on the pages runs, and their links lead somewhere."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agio.cli.commands.app import app
from tests.docs.services import models_in_a_thread
from tests.docs.snippets import run_page
from tests.support.pages import PAGES, ROOT, Block, anchors_of, blocks_of, links_of, name_of, prose_of

EXECUTED = ("README.md", "docs/quickstart.md")
"""The pages whose `agio` commands are run, not only parsed."""


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder, keys for every provider, and a model behind them that is on this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGIO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    with models_in_a_thread() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield


def _with_python() -> list[Path]:
    return [page for page in PAGES if blocks_of(page, "python")]


@pytest.mark.parametrize("page", _with_python(), ids=name_of)
def test_the_python_blocks_of_a_page_run_in_order(page: Path, surroundings: None) -> None:
    """L16: every Python block is executed, and prints what the page says it prints."""
    run_page(blocks_of(page, "python", "text"))


def _commands(block: Block) -> list[str]:
    lines = block.code.replace("\\\n", " ").splitlines()
    return [line for line in lines if re.search(r"(^|\| *)agio\b", line)]


def _all_commands(page: Path) -> list[str]:
    """Return the commands of a page: in blocks, and in indented lines, where two spaces begin a remark."""
    indented = re.findall(r"^ {4}(agio .*?)(?: {2,}.*)?$", prose_of(page), re.MULTILINE)
    return [*indented, *(line for block in blocks_of(page, "sh") for line in _commands(block))]


def _agio_arguments(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    words = words[words.index("agio") + 1 :]
    ends = [at for at, word in enumerate(words) if word in ("|", ">", "&&", ";")]
    return words[: ends[0]] if ends else words


@pytest.mark.parametrize("page", [page for page in PAGES if _all_commands(page)], ids=name_of)
def test_every_agio_command_on_a_page_exists_with_its_options(page: Path) -> None:
    """L16: a command on a page is one that the program knows."""
    for line in _all_commands(page):
        arguments = _agio_arguments(line)
        if arguments != ["--version"]:
            result = CliRunner().invoke(app, [*arguments, "--help"])
            assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.mark.parametrize("name", EXECUTED)
def test_the_agio_commands_of_the_first_pages_work(name: str, surroundings: None) -> None:
    """L16, L15: what a newcomer types works as it is written."""
    for block in blocks_of(ROOT / name, "sh"):
        for line in _commands(block):
            done = subprocess.run(
                ["bash", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90
            )
            assert done.returncode == 0, f"{block.place}: {line}\n{done.stdout}{done.stderr}"


def test_every_make_target_on_a_page_exists() -> None:
    """L16: a `make` command on a page is in the Makefile."""
    known = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (block.place, target)
        for page in PAGES
        for block in blocks_of(page, "sh")
        for target in re.findall(r"\bmake ([a-z]+)", block.code)
    }
    assert named
    assert [f"{place}: make {target}" for place, target in sorted(named) if target not in known] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    """L16: every relative link leads to a file, and to a heading of it where it says so."""
    broken: list[str] = []
    for link in links_of(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


def test_the_readme_is_short() -> None:
    """L15: the first page fits the first minutes: at most 150 lines."""
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_every_page_is_in_the_index() -> None:
    """L16: docs/README.md leads to every page."""
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links_of(index)}
    assert [name_of(page) for page in PAGES if page not in (*linked, index, ROOT / "README.md")] == []


def test_every_picture_is_shown_on_a_page() -> None:
    """L16: docs/images holds what pages show, and nothing else; `make images` makes the rest elsewhere."""
    linked = {(page.parent / link).resolve() for page in PAGES for link in links_of(page)}
    assert [image.name for image in (ROOT / "docs" / "images").iterdir() if image not in linked] == []
