"""The subprocess that reads one document: `python -m agio.documents.child`. It limits itself before it opens it.

It writes lines of JSON: progress, passages, and at last what it used, or why it failed.
"""

import importlib.util
import sys
from collections.abc import Sequence

import msgspec

from agio.core.document import Format, PassageFields
from agio.core.text import estimate_tokens
from agio.documents.block import ExtractLimits, Source
from agio.documents.formats import NEEDS
from agio.errors import UserError

_BATCH = 32


class Order(msgspec.Struct, frozen=True):
    """What to read, and within which bounds."""

    path: str
    format: Format
    limits: ExtractLimits = ExtractLimits()


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the subprocess's output."""

    page: int | None = None
    pages: int | None = None
    passages: Sequence[PassageFields] = ()
    tokens: int = 0
    """Of these passages."""
    memory_bytes: int | None = None
    """The last line: the most memory that was used."""
    code: str | None = None
    """The last line: why it failed."""
    message: str = ""


def limit_self(limits: ExtractLimits) -> None:
    """Bound memory, time and files of this process, where the system can."""
    if sys.platform == "win32":
        return
    import resource

    seconds = int(limits.seconds) + 1
    for what, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        _, hard = resource.getrlimit(what)
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (wanted, wanted))


def used_memory() -> int:
    """Return the most memory that this process has used, in bytes."""
    if sys.platform == "win32":
        return 0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def write(line: Line) -> None:
    """Write a line."""
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


def extract(order: Order) -> None:
    """Read a document and write its passages. Raises UserError."""
    needed = NEEDS.get(order.format)
    if any(importlib.util.find_spec(name) is None for name in ("semchunk", needed) if name):
        raise UserError(
            "docs_not_installed",
            f"Reading {order.format} needs the extra docs. The server's operator installs it: pip install 'agio[docs]'",
        )
    from agio.documents.chunks import passages_of
    from agio.documents.parsers import PARSERS

    parser = PARSERS.get(order.format)
    if parser is None:
        raise UserError(
            "document_format_unknown",
            "The format is not known. Add PDF, Word (.docx), PowerPoint (.pptx), Excel (.xlsx), CSV, HTML, Markdown, "
            "EPUB, or text.",
        )

    def progress(page: int, pages: int) -> None:
        if page % 10 == 1 or page == pages:
            write(Line(page=page, pages=pages))

    held: list[PassageFields] = []

    def flush() -> None:
        write(Line(passages=held, tokens=sum(estimate_tokens(each.text) for each in held)))
        held.clear()

    source = Source(order.path, order.limits, progress)
    count = 0
    for passage in passages_of(parser(source), order.limits):
        held.append(passage)
        count += 1
        if len(held) == _BATCH:
            flush()
    if held:
        flush()
    if not count:
        raise UserError("document_no_text", "The document has no text.")
    write(Line(memory_bytes=used_memory()))


def main() -> int:
    """Read one order from the standard input and carry it out."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    limit_self(order.limits)
    try:
        extract(order)
    except UserError as error:
        write(Line(code=error.code, message=error.message))
    except MemoryError:
        write(
            Line(code="document_too_large", message="Reading the document takes too much memory. Split it.")
        )
    except RecursionError:
        write(Line(code="document_unreadable", message="The document is nested too deep."))
    except Exception as error:
        kind = type(error).__name__
        write(
            Line(code="document_unreadable", message=f"The document is damaged: its parser failed ({kind}).")
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
