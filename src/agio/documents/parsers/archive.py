"""Zipped formats: their files, within the bounds of what they may unpack to."""

import posixpath
import xml.etree.ElementTree as ET  # nosec B405: expat limits entities, and this process has bounds
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from agio.documents.block import Source, encrypted, too_large, unreadable

_OLE = b"\xd0\xcf\x11\xe0"
_RATIO = 200
"""How often smaller than its content an archive of more than `_SMALL` bytes may be."""
_SMALL = 16 * 1024 * 1024


class Archive:
    """An open archive."""

    def __init__(self, zipped: ZipFile) -> None:
        self._zipped = zipped
        self.names = frozenset(zipped.namelist())

    def read(self, name: str) -> bytes:
        """Read a file. Raises UserError `document_unreadable`."""
        if name not in self.names:
            raise unreadable(f"it has no part {name[:80]}")
        return self._zipped.read(name)

    def xml(self, name: str) -> ET.Element:
        """Parse a file as XML. Raises UserError `document_unreadable`."""
        data = self.read(name)
        if b"<!ENTITY" in data:
            raise unreadable("it defines entities")
        try:
            return ET.fromstring(data)  # nosec B314  # noqa: S314 - as above
        except ET.ParseError as error:
            raise unreadable(f"its part {name[:80]} is not XML: {error}") from error

    def links(self, name: str) -> dict[str, str]:
        """Return the parts that a part refers to, by id. References to elsewhere are left out."""
        folder, _, file = name.rpartition("/")
        where = f"{folder}/_rels/{file}.rels" if folder else f"_rels/{file}.rels"
        if where not in self.names:
            return {}
        return {
            each.get("Id", ""): joined(folder, each.get("Target", ""))
            for each in self.xml(where)
            if each.get("TargetMode") != "External"
        }


@contextmanager
def opened(source: Source) -> Generator[Archive]:
    """Open an archive. Raises UserError `document_encrypted`, `document_too_large`, `document_unreadable`."""
    with Path(source.path).open("rb") as file:
        if file.read(4) == _OLE:
            raise encrypted()
        packed = file.seek(0, 2)
    try:
        with ZipFile(source.path) as zipped:
            check_archive(zipped, source, packed)
            yield Archive(zipped)
    except (BadZipFile, NotImplementedError, EOFError) as error:
        raise unreadable(f"its archive is damaged ({error})") from error


def check_archive(zipped: ZipFile, source: Source, packed: int) -> None:
    """Refuse what unpacks to too much. Raises UserError `document_too_large`, `document_encrypted`."""
    entries = zipped.infolist()
    if len(entries) > source.limits.entries:
        raise too_large(f"it has {len(entries)} files inside, and {source.limits.entries} are possible")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > source.limits.unpacked_bytes:
        raise too_large(f"it unpacks to {unpacked} bytes, and {source.limits.unpacked_bytes} are possible")
    if unpacked > _SMALL and unpacked > packed * _RATIO:
        raise too_large(f"its {packed} bytes unpack to {unpacked}")
    if any(entry.flag_bits & 1 for entry in entries):
        raise encrypted()


def joined(folder: str, target: str) -> str:
    """Return the name of a part that another in this folder refers to."""
    target = unquote(target.partition("#")[0])
    return target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))


def local(tag: str) -> str:
    """Return the name of an XML tag without its namespace."""
    return tag.rpartition("}")[2]
