"""docs/requirements.md: sentences by hand, lists of test files from the docstrings of their tests.

python -m tests.docs.requirements --write
"""

import ast
import re
import sys
from pathlib import Path

from msgspec import Struct

from tests.support.pages import ROOT

PAGE = ROOT / "docs" / "requirements.md"
TESTS = (ROOT / "tests", ROOT / "web" / "e2e")
_IDS = re.compile(r"\s*([A-Z]\d+(?:, ?[A-Z]\d+)*):")
_HEADING = re.compile(r"^## ([A-Z]\d+)\b.*$", re.MULTILINE)
_LIST = re.compile(r"<!-- tests -->\n(.*?)<!-- end of tests -->\n", re.DOTALL)
_ITEM = re.compile(r"^- \[`([^`]+)`\]\(\.\./([^)]+)\)$", re.MULTILINE)


class Proof(Struct, frozen=True, order=True):
    """A file and a requirement that the docstring of one of its tests names."""

    requirement: str
    file: str


def proofs_in_tests() -> set[Proof]:
    """Read the docstrings of all tests."""
    return {proof for file in _files() for proof in _proofs_of(file)}


def nameless_tests() -> list[str]:
    """Return the tests whose docstring does not begin with an id."""
    return [
        f"{file.relative_to(ROOT)}::{test.name}"
        for file in _files()
        for test in _tests_of(file)
        if not _IDS.match(ast.get_docstring(test) or "")
    ]


def _files() -> list[Path]:
    found = (file for folder in TESTS for file in folder.rglob("test_*.py"))
    return sorted(file for file in found if "node_modules" not in file.parts)


def _tests_of(file: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def _proofs_of(file: Path) -> list[Proof]:
    name = str(file.relative_to(ROOT))
    return [
        Proof(requirement, name)
        for test in _tests_of(file)
        if (found := _IDS.match(ast.get_docstring(test) or ""))
        for requirement in re.split(r", ?", found.group(1))
    ]


def sections() -> dict[str, str]:
    """Return the page's sections by requirement."""
    text = PAGE.read_text()
    starts = list(_HEADING.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {start.group(1): text[start.end() : end] for start, end in zip(starts, ends, strict=True)}


def proofs_on_page() -> set[Proof]:
    """Read the lists of test files on the page."""
    proofs: set[Proof] = set()
    for requirement, text in sections().items():
        for name, link in _ITEM.findall(text):
            assert name == link, f"{name} leads to {link}"
            proofs.add(Proof(requirement, name))
    return proofs


def words_of(section: str) -> str:
    """Return what is written by hand in a section."""
    return _LIST.sub("", section).strip()


def written(text: str) -> str:
    """Return the page with its lists of test files renewed."""
    known = proofs_in_tests()

    def renew(match: re.Match[str]) -> str:
        requirement = [found.group(1) for found in _HEADING.finditer(text, 0, match.start())][-1]
        files = sorted(proof.file for proof in known if proof.requirement == requirement)
        lines = [f"- [`{file}`](../{file})" for file in files]
        return "<!-- tests -->\n" + "".join(f"{line}\n" for line in lines) + "<!-- end of tests -->\n"

    return _LIST.sub(renew, text)


if __name__ == "__main__":
    page = PAGE.read_text()
    renewed = written(page)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(renewed)
    elif renewed != page:
        sys.exit("docs/requirements.md is behind the tests: python -m tests.docs.requirements --write")
