"""CSV and XLSX: a block is a row, which names its columns."""

import csv
import io
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from agio.documents.block import Block, Blocks, Source, unreadable
from agio.documents.parsers.archive import opened
from agio.documents.parsers.text import read_text

_LINE_CHARS = 1024 * 1024
_COLUMNS = 500


def parse_csv(source: Source) -> Blocks:
    """Parse a table of text."""
    text = read_text(source)
    head = text[: 64 * 1024]
    mark = max(",;\t|", key=lambda each: head.partition("\n")[0].count(each))
    csv.field_size_limit(_LINE_CHARS)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    try:
        yield from _table((rows.line_num, row) for row in rows)
    except csv.Error as error:
        raise unreadable(f"a cell or line has more than {_LINE_CHARS} characters ({error})") from error


def parse_xlsx(source: Source) -> Blocks:
    """Parse a workbook: its sheets are headings."""
    with opened(source):
        pass
    calamine: Any = import_module("python_calamine")
    try:
        book = calamine.CalamineWorkbook.from_path(source.path)
    except calamine.PasswordError as error:
        from agio.documents.block import encrypted

        raise encrypted() from error
    except calamine.CalamineError as error:
        raise unreadable(f"it is not a workbook ({str(error)[:100]})") from error
    names: list[str] = book.sheet_names
    for number, name in enumerate(names, 1):
        source.progress(number, len(names))
        yield Block(name, level=1, page=number)
        rows = book.get_sheet_by_name(name).iter_rows()
        numbered = ((line, [_shown(cell) for cell in row]) for line, row in enumerate(rows, 1))
        for block in _table(numbered):
            yield Block(block.text, page=number, line=block.line)


def _table(rows: Iterator[tuple[int, Sequence[str]]]) -> Iterator[Block]:
    titles: Sequence[str] | None = None
    for line, row in rows:
        cells = [cell.strip() for cell in row[:_COLUMNS]]
        if not any(cells):
            continue
        if titles is None:
            titles = cells
            yield Block(" | ".join(cell for cell in cells if cell), line=line)
            continue
        named = [
            f"{titles[idx]}: {cell}" if idx < len(titles) and titles[idx] else cell
            for idx, cell in enumerate(cells)
            if cell
        ]
        yield Block("; ".join(named), line=line)


def _shown(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)
