"""Text, Markdown and source code: paragraphs with their lines."""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from agio.documents.block import Block, Blocks, Source, unreadable

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")


def decode(data: bytes) -> str:
    """Decode text: UTF-8, UTF-16 with a mark, else Windows-1252. Raises UserError `document_unreadable`."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if b"\0" in data:
            raise unreadable("it is not text") from None
        return data.decode("cp1252", "replace")


def read_text(source: Source) -> str:
    """Read a file as text, with line ends of one kind."""
    return decode(Path(source.path).read_bytes()).replace("\r\n", "\n").replace("\r", "\n")


def parse_text(source: Source) -> Blocks:
    """Split text, or source code, at empty lines. Indentation stays."""
    yield from _paragraphs(read_text(source))


def parse_markdown(source: Source) -> Blocks:
    """Split Markdown into headings and paragraphs; headings inside code are text."""
    held: list[str] = []
    first = 1
    fence = ""

    def flush() -> Iterator[Block]:
        body = "\n".join(held).strip("\n")
        held.clear()
        if body.strip():
            yield Block(body, line=first)

    for number, line in enumerate(read_text(source).split("\n"), 1):
        mark = _FENCE.match(line)
        if mark and (not fence or fence == mark[1]):
            fence = "" if fence else mark[1]
        heading = None if fence else _HEADING.match(line)
        under = None if fence or not held or held[-1].startswith("|") else _UNDERLINE.match(line)
        if heading:
            yield from flush()
            yield Block(heading[2], level=len(heading[1]), line=number)
        elif under and len(held) == 1:
            title = held.pop()
            yield Block(title.strip(), level=1 if under[1][0] == "=" else 2, line=number - 1)
        elif not line.strip() and not fence:
            yield from flush()
        else:
            if not held:
                first = number
            held.append(line)
    yield from flush()


def _paragraphs(text: str) -> Iterator[Block]:
    held: list[str] = []
    first = 1
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            if not held:
                first = number
            held.append(line.rstrip())
        elif held:
            yield Block("\n".join(held), line=first)
            held.clear()
