"""HTML: headings and paragraphs. Scripts, styles and what is hidden are left out; nothing is fetched."""

import re
from collections.abc import Iterator
from pathlib import Path

from agio.documents.block import Block, Blocks, Source
from agio.documents.parsers.text import decode

_DROPPED = ["script", "style", "noscript", "template", "iframe", "object", "svg", "head", "[hidden]"]
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_BREAKING = (
    "address article aside blockquote body br dd details div dl dt figcaption figure footer form header hr li main nav "
    "ol p pre section summary table tbody td tfoot th thead tr ul"
)
_BREAKS = frozenset(_BREAKING.split())
"""The elements that begin and end a paragraph."""
_SPACE = re.compile(r"[ \t\r\f\v\n]+")


def parse_html(source: Source) -> Blocks:
    """Parse a page."""
    yield from blocks_of(decode(Path(source.path).read_bytes()))


def blocks_of(html: str, page: int | None = None) -> Iterator[Block]:
    """Split HTML into headings and paragraphs. Cells of a row stay together."""
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    tree = LexborHTMLParser(html)
    title = tree.css_first("head > title")
    named = "" if title is None else _SPACE.sub(" ", title.text()).strip()
    for node in tree.css(", ".join(_DROPPED)):
        node.decompose()
    for node in tree.css("[style]"):
        if _HIDDEN.search(node.attributes.get("style") or ""):
            node.decompose()
    words: list[str] = []

    def flush() -> Iterator[Block]:
        text = "".join(words)
        words.clear()
        if shown := _SPACE.sub(" ", text).strip():
            yield Block(shown, page=page)

    if named and tree.css_first("h1") is None:
        yield Block(named, level=1, page=page)
    root = tree.body
    if root is None:
        return
    stack: list[tuple[LexborNode, bool]] = [(root, False)]
    while stack:
        node, left = stack.pop()
        tag = node.tag or ""
        if tag == "-text":
            words.append(node.text(deep=True))
            continue
        if left:
            if tag in ("td", "th"):
                words.append(" | ")
            elif tag in _BREAKS:
                yield from flush()
            continue
        if tag in _LEVELS:
            yield from flush()
            if text := _SPACE.sub(" ", node.text(separator=" ")).strip():
                yield Block(text, level=_LEVELS[tag], page=page)
            continue
        if tag == "pre":
            yield from flush()
            if text := node.text().strip("\n"):
                yield Block(text, page=page)
            continue
        if tag in _BREAKS and tag not in ("td", "th"):
            yield from flush()
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(list(node.iter(include_text=True))))
    yield from flush()
