"""Extraction: every format becomes passages with their place; what cannot be read says why, and ends."""

import asyncio
import os
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from agio.core.document import PassageFields
from agio.documents.block import ExtractLimits
from agio.documents.extractor import Extractor
from agio.documents.formats import format_of
from agio.errors import UserError
from tests.support.clock import until
from tests.support.office import MAKERS, csv, docx, pdf, zipped

PAGES = [
    ["Holidays", "Everybody has 31 days. Ask Quentin."],
    ["Refunds", "Above 500 francs the treasurer signs."],
]


async def extract(
    folder: Path, name: str, data: bytes, limits: ExtractLimits | None = None
) -> list[PassageFields]:
    path = folder / name.rpartition("/")[2]
    path.write_bytes(data)
    passages: list[PassageFields] = []
    async for line in Extractor(limits).read(str(path), format_of(name, data[:4096])):
        passages += line.passages
    return passages


@pytest.mark.parametrize("ending", sorted(MAKERS))
async def test_each_format_becomes_passages_with_their_place(ending: str, tmp_path: Path) -> None:
    """L11: all text is there, spans are those of the whole text, and headings or pages say where it stands."""
    found = await extract(tmp_path, f"doc.{ending}", MAKERS[ending](PAGES))
    whole = "\n\n".join(each.text for each in found)
    assert all(whole[each.start : each.end] == each.text for each in found)
    assert all(word in whole for word in ("31 days", "Quentin", "500 francs", "Refunds"))
    [signs] = [each for each in found if "treasurer signs" in each.text]
    if ending in ("md", "html", "docx", "pptx", "epub"):
        assert signs.heading == "Refunds"
        assert len(found) == 2
    if ending in ("pdf", "pptx", "epub", "xlsx"):
        assert signs.page == 2
    if ending in ("md", "txt", "csv"):
        assert signs.line is not None


def bomb() -> bytes:
    return zipped({"word/document.xml": b"0" * 300_000_000})


def many_files() -> bytes:
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for number in range(200):
            archive.writestr(f"{number}", b"")
    return data.getvalue()


BAD: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a PDF of pictures": ("a.pdf", lambda: pdf([[], []]), "document_no_text"),
    "an encrypted PDF": ("a.pdf", lambda: pdf(PAGES, encrypt=True), "document_encrypted"),
    "a damaged PDF": ("a.pdf", lambda: b"%PDF-1.7 nothing", "document_unreadable"),
    "an encrypted Word file": ("a.docx", lambda: b"\xd0\xcf\x11\xe0" + bytes(600), "document_encrypted"),
    "a damaged Word file": ("a.docx", lambda: docx(PAGES)[:300], "document_unreadable"),
    "another archive": ("a.docx", lambda: zipped({"x": "y"}), "document_unreadable"),
    "a zip bomb": ("a.docx", bomb, "document_too_large"),
    "an archive of many files": ("a.docx", many_files, "document_too_large"),
    "a book that defines entities": (
        "a.epub",
        lambda: zipped({"META-INF/container.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"}),
        "document_unreadable",
    ),
    "a CSV of one line": ("a.csv", lambda: b"x" * 20_000_000, "document_unreadable"),
    "no text at all": ("a.txt", lambda: b" \n ", "document_no_text"),
    "bytes": ("a.exe", lambda: b"MZ\0\0", "document_format_unknown"),
}


@pytest.mark.parametrize("what", sorted(BAD))
async def test_what_cannot_be_read_says_why(what: str, tmp_path: Path) -> None:
    """L11: a stable code and words that say what to do."""
    name, make, code = BAD[what]
    limits = ExtractLimits(unpacked_bytes=100_000_000, entries=100)
    with pytest.raises(UserError) as refused:
        await extract(tmp_path, name, make(), limits)
    assert refused.value.code == code
    assert len(refused.value.message) > 20


async def test_a_page_of_scripts_is_its_text_alone(tmp_path: Path) -> None:
    """L11: scripts, styles and what is hidden reach no model."""
    page = (
        b"<h1>Hi</h1><script>alert('x1')</script><style>x2</style><p hidden>x3</p><p style='display: none'>x4</p>"
        b"<iframe src='http://10.0.0.1'>x5</iframe><template>x6</template><p onclick='x7()'>Text<!-- x8 --></p>"
    )
    [found] = await extract(tmp_path, "a.html", page)
    assert found.text == "Hi\n\nText"


async def test_references_to_elsewhere_are_not_followed(tmp_path: Path) -> None:
    """L11: a Word file that links to an address and to a file of the server reads neither."""
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"CANARY")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
    links = "".join(
        f'<Relationship Id="x{n}" Type="{kind}" TargetMode="External" Target="{target}"/>'
        for n, target in enumerate((secret.as_uri(), "http://127.0.0.1:9/x.png"))
    )
    found = await extract(tmp_path, "a.docx", docx(PAGES, links))
    assert "31 days" in found[0].text
    assert "CANARY" not in str(found)


async def test_five_thousand_pages_are_read(tmp_path: Path) -> None:
    """L11: a long document is read page by page, within the bounds."""
    pages = [[f"Page {number} says canary{number}."] for number in range(5000)]
    found = await extract(tmp_path, "a.pdf", pdf(pages))
    assert [each.page for each in found] == list(range(1, 5001))
    with pytest.raises(UserError, match="5000 pages"):
        await extract(tmp_path, "a.pdf", pdf(pages), ExtractLimits(pages=100))


async def test_a_parser_that_hangs_is_killed_with_its_group(tmp_path: Path) -> None:
    """L11: after its time nothing of it runs."""
    data = csv([[f"{number}|row" for number in range(400_000)]])
    started = time.monotonic()
    with pytest.raises(UserError) as refused:
        await extract(tmp_path, "a.csv", data, ExtractLimits(seconds=0.4))
    assert refused.value.code == "document_timeout"
    assert time.monotonic() - started < 5
    assert not children()


async def test_a_parser_that_takes_too_much_memory_ends(tmp_path: Path) -> None:
    """L11: the limit is the subprocess's own, and the words say so."""
    with pytest.raises(UserError) as refused:
        await extract(tmp_path, "a.txt", b"word " * 40_000_000, ExtractLimits(memory_bytes=300_000_000))
    assert refused.value.code in ("document_too_large", "parser_failed")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
async def test_a_parser_that_is_killed_says_so(tmp_path: Path) -> None:
    """L11: as the system does when memory is short."""
    data = csv([[f"{number}|row" for number in range(400_000)]])
    reading = asyncio.ensure_future(extract(tmp_path, "a.csv", data))
    await until(lambda: bool(children()))
    for child in children():
        os.kill(child, signal.SIGKILL)
    with pytest.raises(UserError) as refused:
        await reading
    assert refused.value.code == "parser_failed"


async def test_secrets_of_the_environment_do_not_reach_a_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S14: a parser that was taken over finds no key."""
    monkeypatch.setenv("AGIO_SECRET_KEY", "CANARY")
    data = csv([[f"{number}|row" for number in range(400_000)]])
    reading = asyncio.ensure_future(extract(tmp_path, "a.csv", data))
    await until(lambda: bool(children()))
    seen = environments()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert seen
    assert not any(b"CANARY" in each for each in seen)
    assert not children()


def environments() -> list[bytes]:
    """What the processes that read a document have in their environment."""
    return [Path(f"/proc/{child}/environ").read_bytes() for child in children()]


def children() -> list[int]:
    """The processes that read a document for this one."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if b"agio.documents.child" in command and int(parent) == os.getpid():
                found.append(int(entry.name))
    return found
