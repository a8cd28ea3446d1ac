"""Small documents of every format, made by hand: each is a list of pages, and a page is its lines."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return data.getvalue()


def docx(pages: Sequence[Sequence[str]], relations: str = "") -> bytes:
    """A Word document: the first line of a page is a heading."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{escape(line)}</w:t></w:r></w:p>'
        if number == 0
        else f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>"
        for lines in pages
        for number, line in enumerate(lines)
    )
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    styles = (
        f'<w:styles xmlns:w="{_W}"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/>'
        "</w:style></w:styles>"
    )
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_RELS}"><Relationship Id="r1" Type="{_R}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{_W}" xmlns:r="{_R}"><w:body>{body}</w:body></w:document>',
            "word/styles.xml": styles,
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELS}"><Relationship Id="s" '
            f'Type="{_R}/styles" Target="styles.xml"/>{relations}</Relationships>',
        }
    )


def xlsx(pages: Sequence[Sequence[str]]) -> bytes:
    """A workbook with a sheet for each page; the cells of a line are separated by `|`."""
    numbers = range(1, len(pages) + 1)
    sheets = "".join(f'<sheet name="Sheet {n}" sheetId="{n}" r:id="r{n}"/>' for n in numbers)
    links = "".join(
        f'<Relationship Id="r{n}" Type="{_R}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}"/>',
        "_rels/.rels": f'<Relationships xmlns="{_RELS}"><Relationship Id="r1" Type="{_R}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELS}">{links}</Relationships>',
    }
    for n, lines in zip(numbers, pages, strict=True):
        rows = "".join(
            f'<row r="{row}">'
            + "".join(
                f'<c r="{chr(65 + column)}{row}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
                for column, cell in enumerate(line.split("|"))
            )
            + "</row>"
            for row, line in enumerate(lines, 1)
        )
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet xmlns="{_S}"><sheetData>{rows}</sheetData></worksheet>'
        )
    return zipped(parts)


def pptx(pages: Sequence[Sequence[str]]) -> bytes:
    """A presentation: the first line of a page is the title of its slide."""
    numbers = range(1, len(pages) + 1)
    ids = "".join(f'<p:sldId id="{255 + n}" r:id="r{n}"/>' for n in numbers)
    links = "".join(
        f'<Relationship Id="r{n}" Type="{_R}/slide" Target="slides/slide{n}.xml"/>' for n in numbers
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}"/>',
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{_P}" xmlns:r="{_R}"><p:sldIdLst>{ids}</p:sldIdLst>'
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{_RELS}">{links}</Relationships>',
    }
    for n, lines in zip(numbers, pages, strict=True):
        shapes = "".join(
            "<p:sp>"
            + ('<p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>' if number == 0 else "")
            + f"<p:txBody><a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p></p:txBody></p:sp>"
            for number, line in enumerate(lines)
        )
        parts[f"ppt/slides/slide{n}.xml"] = (
            f'<p:sld xmlns:p="{_P}" xmlns:a="{_A}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>'
        )
    return zipped(parts)


def epub(pages: Sequence[Sequence[str]]) -> bytes:
    """A book: a page is a chapter, its first line a heading."""
    numbers = range(1, len(pages) + 1)
    items = "".join(
        f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in numbers
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in numbers)
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest>'
        f"<spine>{spine}</spine></package>",
    }
    for n, lines in zip(numbers, pages, strict=True):
        parts[f"OEBPS/c{n}.xhtml"] = html([lines]).decode()
    return zipped(parts)


def html(pages: Sequence[Sequence[str]]) -> bytes:
    """A web page."""
    body = "".join(
        f"<h1>{escape(line)}</h1>" if number == 0 else f"<p>{escape(line)}</p>"
        for lines in pages
        for number, line in enumerate(lines)
    )
    return f"<html><head><title>Page</title></head><body>{body}</body></html>".encode()


def markdown(pages: Sequence[Sequence[str]]) -> bytes:
    """Markdown: the first line of a page is a heading."""
    return "\n\n".join(
        f"# {line}" if number == 0 else line for lines in pages for number, line in enumerate(lines)
    ).encode()


def text(pages: Sequence[Sequence[str]]) -> bytes:
    """Text."""
    return "\n\n".join("\n\n".join(lines) for lines in pages).encode()


def csv(pages: Sequence[Sequence[str]]) -> bytes:
    """A table; the cells of a line are separated by `|`."""
    return "\n".join(line.replace("|", ";") for lines in pages for line in lines).encode()


def pdf(pages: Sequence[Sequence[str]], *, encrypt: bool = False) -> bytes:
    """A PDF; a page without lines is blank, as a scan without recognised text is."""
    count = len(pages)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {count}/Kids[{' '.join(f'{4 + 2 * n} 0 R' for n in range(count))}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for n, lines in enumerate(pages):
        shown = b" T* ".join(
            b"(" + line.encode("cp1252", "replace").translate(_ESCAPES) + b") Tj" for line in lines
        )
        stream = b"BT /F 11 Tf 14 TL 40 800 Td " + shown + b" ET"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>"
            f"/Contents {5 + 2 * n} 0 R>>".encode()
        )
        objects.append(b"<</Length %d>>stream\n%b\nendstream" % (len(stream), stream))
    data = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    locked = b""
    if encrypt:
        key = b"<" + b"41" * 32 + b">"
        locked = b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O%b/U%b>>/ID[<41><41>]" % (key, key)
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer<</Size %d/Root 1 0 R%b>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, locked, start)
    return bytes(data)


_REPLACED = {ord("("): b"[", ord(")"): b"]", ord("\\"): b"/"}
_ESCAPES = bytes(_REPLACED.get(each, bytes([each]))[0] for each in range(256))
MAKERS = {
    "md": markdown,
    "txt": text,
    "html": html,
    "csv": csv,
    "pdf": pdf,
    "docx": docx,
    "xlsx": xlsx,
    "pptx": pptx,
    "epub": epub,
}
"""A maker for each ending."""
