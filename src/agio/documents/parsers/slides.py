"""PPTX: the text of its slides and notes; a page is a slide, its title a heading."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element  # nosec B405: no parsing here

from agio.documents.block import Block, Blocks, Source
from agio.documents.parsers.archive import Archive, local, opened

_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def parse_pptx(source: Source) -> Blocks:
    """Parse a presentation."""
    with opened(source) as archive:
        show = "ppt/presentation.xml"
        links = archive.links(show)
        ids = [each.get(_R_ID, "") for each in archive.xml(show).iter() if local(each.tag) == "sldId"]
        slides = [links[each] for each in ids if each in links]
        for number, name in enumerate(slides, 1):
            source.progress(number, len(slides))
            yield from _slide(archive, name, number)


def _slide(archive: Archive, name: str, page: int) -> Iterator[Block]:
    shapes = list(_shapes(archive.xml(name)))
    for is_title, lines in sorted(shapes, key=lambda each: not each[0]):
        if is_title and lines:
            yield Block(" ".join(lines), level=1, page=page)
        elif lines:
            yield Block("\n".join(lines), page=page)
    for linked in archive.links(name).values():
        if "notesSlide" in linked:
            notes = [
                line for _, lines in _shapes(archive.xml(linked)) for line in lines if not line.isdigit()
            ]
            if notes:
                yield Block("Notes: " + "\n".join(notes), page=page)


def _shapes(root: Element) -> Iterator[tuple[bool, list[str]]]:
    """Return the paragraphs of each shape and table, and whether it is the title."""
    for shape in root.iter():
        if local(shape.tag) in ("sp", "graphicFrame"):
            kinds = [each.get("type", "") for each in shape.iter() if local(each.tag) == "ph"]
            lines = [_text(each) for each in shape.iter() if local(each.tag) == "p"]
            yield kinds[:1] in (["title"], ["ctrTitle"]), [line for line in lines if line]


def _text(paragraph: Element) -> str:
    return "".join(each.text or "" for each in paragraph.iter() if local(each.tag) == "t").strip()
