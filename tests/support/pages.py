"""The pages of the documentation as data: their code blocks, links, tables and headings."""

import re
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
"""Every page a reader can reach, decisions among them."""

_FENCE = re.compile(r"^(`{3,})(\w*)\s*$")
_MARK = re.compile(r"^<!-- *(.*?) *-->$")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"|<source[^>]+srcset=\"([^\"]+)\"")
_CODE = re.compile(r"`[^`]*`")


class Block(Struct, frozen=True):
    """A fenced block of code. `mark` is the HTML comment right before it, empty without one."""

    page: Path
    line: int
    language: str
    code: str
    mark: str

    @property
    def place(self) -> str:
        """Where the block is, as a reader would say it."""
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    """Return a page's path within the repository."""
    return str(page.relative_to(ROOT))


def blocks_of(page: Path, *languages: str) -> list[Block]:
    """Return the code blocks of a page in these languages, in order."""
    return [block for block in _blocks(page) if block.language in languages]


def _blocks(page: Path) -> list[Block]:
    blocks: list[Block] = []
    fence, language, mark, start = "", "", "", 0
    code: list[str] = []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if fence:
            if line.strip() == fence:
                blocks.append(Block(page, start, language, "\n".join(code) + "\n", mark))
                fence = mark = ""
            else:
                code.append(line)
        elif found := _FENCE.match(line):
            fence, language, start, code = found.group(1), found.group(2), number, []
        elif line.strip():
            comment = _MARK.match(line.strip())
            mark = comment.group(1) if comment else ""
    assert not fence, f"{name_of(page)}:{start}: this block has no end"
    return blocks


def prose_of(page: Path) -> str:
    """Return a page without its code blocks."""
    lines: list[str] = []
    fence = ""
    for line in page.read_text().splitlines():
        found = _FENCE.match(line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif found:
            fence = found.group(1)
        else:
            lines.append(line)
    return "\n".join(lines)


def links_of(page: Path) -> list[str]:
    """Return where the links and images of a page lead."""
    prose = _CODE.sub("", prose_of(page))
    return [next(filter(None, found.groups())) for found in _LINK.finditer(prose)]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    headings = [line.lstrip("#").strip() for line in prose_of(page).splitlines() if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows_under(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of all table rows in the section of a heading, header rows left out."""
    rows: list[list[str]] = []
    level = inside = 0
    for line in prose_of(page).splitlines():
        if line.startswith("#"):
            depth = len(line) - len(line.lstrip("#"))
            if line.lstrip("#").strip() == heading:
                level, inside = depth, 1
                continue
            inside = inside and int(depth > level)
        elif inside and line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    assert rows, f"{name_of(page)} has no table under the heading {heading!r}"
    ruled = [at for at, row in enumerate(rows) if row[0] and set(row[0]) <= {"-", ":"}]
    return [row for at, row in enumerate(rows) if at not in ruled and at + 1 not in ruled]


def unquoted(cell: str) -> str:
    """Return a cell without the backquotes around it."""
    return cell.strip("`")
