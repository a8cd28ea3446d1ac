"""One parser for each format. They run in the subprocess only."""

from agio.core.document import Format
from agio.documents.block import Parser
from agio.documents.parsers import docx, epub, html, pdf, sheets, slides, text

PARSERS: dict[Format, Parser] = {
    "text": text.parse_text,
    "code": text.parse_text,
    "markdown": text.parse_markdown,
    "html": html.parse_html,
    "csv": sheets.parse_csv,
    "pdf": pdf.parse_pdf,
    "docx": docx.parse_docx,
    "xlsx": sheets.parse_xlsx,
    "pptx": slides.parse_pptx,
    "epub": epub.parse_epub,
}
