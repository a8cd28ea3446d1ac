"""What a server says its tools are, as offers within bounds: a tool beyond them is listed, and cannot be accepted."""

from collections.abc import Iterable, Mapping

import msgspec

from agio.core.mcp import MAX_TOOLS, McpOffer
from agio.core.schema.schema import count_parts
from agio.core.text import clean
from agio.protocol.messages import Json

_NAME_CHARS = 128
_DESCRIPTION_CHARS = 8192
_SCHEMA_BYTES = 64 * 1024
_SCHEMA_PARTS = 2000
_TOTAL_BYTES = 2 * 1024 * 1024


class Catalogue:
    """Collects the tools of a server, page by page."""

    def __init__(self) -> None:
        self.offers: dict[str, McpOffer] = {}
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether no more tools are taken."""
        return len(self.offers) >= MAX_TOOLS

    def add(self, name: str, description: str, parameters: Mapping[str, Json], *, read_only: bool) -> None:
        """Add a tool. Of two with one name the first counts."""
        name = clean(name)[:_NAME_CHARS]
        if not name.strip() or name in self.offers or self.is_full:
            return
        description = clean(description)
        schema: dict[str, Json] = dict(parameters)
        problem = _problem(description, schema)
        size = 0 if problem else len(description) + len(msgspec.json.encode(schema))
        if not problem and self._size + size > _TOTAL_BYTES:
            problem = "the descriptions of this server's tools are too large together"
        if problem:
            description, schema = description[:_DESCRIPTION_CHARS], {"type": "object"}
        else:
            self._size += size
        self.offers[name] = McpOffer(
            name=name, description=description, parameters=schema, read_only=read_only, problem=problem
        )


def fingerprint(offers: Iterable[McpOffer]) -> tuple[str, ...]:
    """Return what tells one catalogue from another."""
    return tuple(sorted(f"{offer.name} {offer.digest} {offer.read_only} {offer.problem}" for offer in offers))


def _problem(description: str, schema: dict[str, Json]) -> str:
    if len(description) > _DESCRIPTION_CHARS:
        return f"its description has more than {_DESCRIPTION_CHARS} characters"
    try:
        encoded = msgspec.json.encode(schema)
        msgspec.msgpack.encode(schema)
    except (ValueError, OverflowError, RecursionError) as error:
        return f"its schema cannot be read: {error}"
    if len(encoded) > _SCHEMA_BYTES or count_parts(encoded) > _SCHEMA_PARTS:
        return f"its schema is larger than {_SCHEMA_BYTES} bytes or {_SCHEMA_PARTS} parts"
    return ""
