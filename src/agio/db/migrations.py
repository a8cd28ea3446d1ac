"""The migrations: numbered files in `sql/<dialect>/`. A number and its name mean the same change in both dialects."""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from agio.db.queries import SQL_FOLDER
from agio.errors import StoreError

_FILE = re.compile(r"(\d{3})_(\w+)\.up\.sql")


class Migration(Struct, frozen=True):
    """One step of the schema: the SQL that applies it and the SQL that reverts it."""

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


def check_applied(applied: Sequence[tuple[int, str]], dialect: str, store: str) -> int:
    """Return the version of a store from its rows of `schema_migrations`, which are sorted by version; 0 if none.

    Raises StoreError `store_prerelease` if the rows have the numbering from before 0.1.0, and `store_newer`.
    """
    if not applied:
        return 0
    known = load_migrations(dialect)
    first, version = applied[0][1], applied[-1][0]
    kind, empty = ("database", "database") if dialect == "postgres" else ("file", "data folder")
    details = {"store": store, "version": version}
    if first != known[0].name:
        raise StoreError(
            "store_prerelease",
            f"The store {store} was written by a pre-release of agio 0.1.0 and cannot be migrated. "
            f"Start with an empty {empty}, or keep using that version.",
            details,
        )
    if version > known[-1].version:
        raise StoreError(
            "store_newer",
            f"The store {store} was written by a newer agio (schema {version}, this one knows "
            f"{known[-1].version}). Upgrade agio or use another {kind}.",
            details,
        )
    return version
