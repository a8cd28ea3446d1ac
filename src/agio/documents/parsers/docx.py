"""DOCX: read as HTML. Images are left out, and what it refers to outside itself is not opened."""

from importlib import import_module
from typing import Any
from zipfile import BadZipFile

from agio.documents.block import Blocks, Source, unreadable
from agio.documents.parsers.archive import opened
from agio.documents.parsers.html import blocks_of


def parse_docx(source: Source) -> Blocks:
    """Parse a document of a word processor."""
    mammoth: Any = import_module("mammoth")
    with opened(source) as archive:
        if "word/document.xml" not in archive.names and "[Content_Types].xml" not in archive.names:
            raise unreadable("it is not a Word document")
    try:
        with open(source.path, "rb") as file:
            html = str(mammoth.convert_to_html(file, convert_image=_without).value)
    except (KeyError, ValueError, OSError, BadZipFile) as error:
        raise unreadable(f"it is not a Word document ({type(error).__name__})") from error
    yield from blocks_of(html)


def _without(image: object) -> list[object]:
    return []
