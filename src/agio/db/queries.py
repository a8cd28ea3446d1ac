"""The named queries of `sql/<dialect>/queries.sql`: all SQL the repository runs."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

SQL_FOLDER = Path(__file__).parent / "sql"

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n?", re.MULTILINE)


@cache
def load_queries(dialect: str) -> Mapping[str, str]:
    """Read a dialect's queries: name to SQL, without the comments."""
    text = (SQL_FOLDER / dialect / "queries.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    queries: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if name in queries:
            raise ValueError(f"Two queries are named {name}.")
        queries[name] = _COMMENT.sub("", body).strip()
    return MappingProxyType(queries)
