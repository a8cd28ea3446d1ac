"""EPUB: its chapters in reading order; a page is a chapter."""

from agio.documents.block import Blocks, Source, unreadable
from agio.documents.parsers.archive import joined, local, opened
from agio.documents.parsers.html import blocks_of
from agio.documents.parsers.text import decode


def parse_epub(source: Source) -> Blocks:
    """Parse a book."""
    with opened(source) as archive:
        root = archive.xml("META-INF/container.xml")
        package = next(
            (each.get("full-path", "") for each in root.iter() if local(each.tag) == "rootfile"), ""
        )
        if not package:
            raise unreadable("it is not an EPUB")
        tree = archive.xml(package)
        folder = package.rpartition("/")[0]
        items = {
            each.get("id", ""): joined(folder, each.get("href", ""))
            for each in tree.iter()
            if local(each.tag) == "item"
        }
        spine = [items.get(each.get("idref", ""), "") for each in tree.iter() if local(each.tag) == "itemref"]
        chapters = [name for name in spine if name in archive.names]
        for number, name in enumerate(chapters, 1):
            source.progress(number, len(chapters))
            yield from blocks_of(decode(archive.read(name)), page=number)
