"""The migrations of both dialects: the numbered files of `sql/<dialect>/`."""

import re
from functools import cache

from msgspec import Struct

from agio.db.queries import SQL_FOLDER

_FILE = re.compile(r"(\d{3})_(\w+)\.up\.sql")


class Migration(Struct, frozen=True):
    """One step of the schema: the SQL that makes it and the SQL that takes it back."""

    version: int
    name: str
    up: str
    down: str


@cache
def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """Read a dialect's migrations in order."""
    found: list[Migration] = []
    for path in sorted((SQL_FOLDER / dialect).glob("*.up.sql")):
        match = _FILE.fullmatch(path.name)
        if match is None:
            raise ValueError(f"A migration is named NNN_name.up.sql, not {path.name}.")
        down = path.with_name(f"{match[1]}_{match[2]}.down.sql")
        found.append(
            Migration(
                int(match[1]), match[2], path.read_text(encoding="utf-8"), down.read_text(encoding="utf-8")
            )
        )
    return tuple(found)


def known_version(dialect: str) -> int:
    """The newest schema this agio knows."""
    return load_migrations(dialect)[-1].version
