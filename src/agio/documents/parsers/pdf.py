"""PDF: the text of its pages; its bookmarks are headings."""

from importlib import import_module
from typing import Any

from agio.documents.block import Block, Blocks, Source, encrypted, too_large, unreadable
from agio.errors import UserError

_PASSWORD = 4
"""PDFium's FPDF_ERR_PASSWORD."""


def parse_pdf(source: Source) -> Blocks:
    """Parse a PDF. Raises UserError `document_no_text` if its pages are pictures."""
    pdfium: Any = import_module("pypdfium2")
    try:
        pdf = pdfium.PdfDocument(source.path)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD or "password" in str(error).lower():
            raise encrypted() from error
        raise unreadable(f"it is not a PDF ({str(error)[:100]})") from error
    count = len(pdf)
    if count > source.limits.pages:
        raise too_large(f"it has {count} pages, and {source.limits.pages} are possible")
    titles: dict[int, list[tuple[int, str]]] = {}
    for mark in pdf.get_toc(max_depth=6):
        dest = mark.get_dest()
        idx = None if dest is None else dest.get_index()
        if idx is not None and (title := str(mark.get_title()).strip()):
            titles.setdefault(idx, []).append((min(int(mark.level) + 1, 6), title))
    found = False
    for idx in range(count):
        source.progress(idx + 1, count)
        for level, title in titles.get(idx, []):
            yield Block(title, level=level, page=idx + 1)
        page = pdf[idx]
        shown = page.get_textpage()
        text = str(shown.get_text_bounded()).replace("\r\n", "\n").replace("\ufffe", "").strip()
        shown.close()
        page.close()
        if text:
            found = True
            yield Block(text, page=idx + 1)
    if not found:
        raise UserError(
            "document_no_text",
            f"None of the {count} pages has text: they are pictures, probably scans. Run text recognition (OCR) on the "
            "PDF and add the result.",
        )
