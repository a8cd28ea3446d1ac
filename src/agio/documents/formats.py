"""The format of a document, from its name and its first bytes."""

from typing import Literal

from agio.core.document import Format

_CODE = (
    "bash c cc clj cpp cs css cxx dart ex go h hpp hs ini java jl js json jsx kt lua m ml php pl ps1 py r rb rs scala "
    "sh sql svelte swift tf toml ts tsx vue xml yaml yml zig"
)
"""The endings of source code."""
_BY_ENDING: dict[str, Format] = {
    "md": "markdown",
    "markdown": "markdown",
    "mdx": "markdown",
    "htm": "html",
    "html": "html",
    "xhtml": "html",
    "csv": "csv",
    "tsv": "csv",
    **dict.fromkeys(_CODE.split(), "code"),
}
_ZIPPED: dict[str, Format] = {"docx": "docx", "xlsx": "xlsx", "xlsm": "xlsx", "pptx": "pptx", "epub": "epub"}
_MEDIA_TYPES: dict[Format, str] = {
    "text": "text/plain",
    "markdown": "text/markdown",
    "html": "text/html",
    "csv": "text/csv",
    "code": "text/plain",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "epub": "application/epub+zip",
    "unknown": "application/octet-stream",
}
_OLE = b"\xd0\xcf\x11\xe0"
"""The beginning of the formats of Office before 2007, and of encrypted ones since."""
_OF_MEDIA_TYPE: dict[str, Format] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/csv": "csv",
    "application/pdf": "pdf",
}
HEAD_BYTES = 4096


def format_of(name: str, head: bytes, media_type: str = "") -> Format:
    """Return the format of a document from its name, its first bytes and, if a server said so, its media type."""
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _ZIPPED.get(ending, "unknown")
    if head.startswith(_OLE):
        return _ZIPPED.get(ending, "unknown")
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "unknown"
    known = _OF_MEDIA_TYPE.get(media_type.partition(";")[0].strip().lower())
    return known or _BY_ENDING.get(ending, "text")


def media_type_of(given: Format) -> str:
    """Return the media type of a format."""
    return _MEDIA_TYPES[given]


def is_office(given: Format) -> bool:
    """Whether models cannot take the format itself."""
    return given in ("docx", "xlsx", "pptx", "epub")


NEEDS: dict[Format, Literal["pypdfium2", "mammoth", "python_calamine", "selectolax"]] = {
    "pdf": "pypdfium2",
    "docx": "mammoth",
    "xlsx": "python_calamine",
    "html": "selectolax",
    "epub": "selectolax",
}
"""The module of the extra `docs` that a format needs."""
