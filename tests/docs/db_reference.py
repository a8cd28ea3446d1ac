"""docs/db_reference.md: the tables of a store, as the migrations make them on SQLite and on Postgres.

python -m tests.docs.db_reference --write
"""

import asyncio
import re
import sys

import msgspec
from msgspec import Struct

from agio.db.migrations import load_migrations
from agio.db.postgres.driver import connect
from agio.db.sqlite.connector import Connection
from agio.db.sqlite.database import open_writable
from tests.support.pages import ROOT
from tests.support.postgres import PostgresServer

PAGE = ROOT / "docs" / "db_reference.md"

TYPES = {"text": "text", "integer": "bigint", "blob": "bytea", "real": "double precision"}
"""SQLite's types and what they are on Postgres."""
INTRODUCTION = f"""\
# Database reference

The tables of a store, made from the migrations in `src/agio/db/sql` and checked by the tests. The names are the same
on SQLite and on Postgres; {", ".join(f"`{ours}` is `{theirs}`" for ours, theirs in TYPES.items() if ours != theirs)}
on Postgres. Times are milliseconds since 1970. Ids are opaque and sort by the time they were made.
"""

_TABLE = re.compile(r"((?:^-- [^\n]*\n)*)^create table (\w+) \(\n(.*?)^\)", re.MULTILINE | re.DOTALL)
_ADDED = re.compile(r"^alter table (\w+) add column (\w+) [^\n]*?-- ([^\n]*)$", re.MULTILINE)
_NOTE = re.compile(r"^    (\w+) [^\n]*?-- ([^\n]*)$", re.MULTILINE)
_COLUMNS = """
select table_name, column_name, data_type, is_nullable from information_schema.columns
where table_schema = 'public' order by table_name, ordinal_position
"""
_KEYS = """
select t.relname, pg_get_constraintdef(c.oid) from pg_constraint c join pg_class t on t.oid = c.conrelid
where c.connamespace = 'public'::regnamespace and c.contype in ('p', 'u', 'f')
order by t.relname, c.contype desc, c.conname
"""
_INDEXES = """
select tablename, indexname, indexdef from pg_indexes
where schemaname = 'public' and indexname not like '%_pkey' and indexname not like '%_key' order by indexname
"""


class Column(Struct, frozen=True):
    """A column by its type on SQLite."""

    name: str
    type: str
    required: bool


class Table(Struct):
    """A table with its keys and indexes as sentences."""

    columns: list[Column]
    keys: list[str]
    indexes: list[str]


def sqlite_tables() -> dict[str, Table]:
    """The tables the migrations make on SQLite."""
    connection, _ = open_writable(None)
    names = connection.execute(
        "select name from sqlite_schema where type = 'table' order by rowid"
    ).fetchall()
    tables = {name: _sqlite_table(connection, name) for (name,) in msgspec.convert(names, list[tuple[str]])}
    connection.close()
    return tables


async def postgres_tables(url: str) -> dict[str, Table]:
    """The tables the migrations made in a Postgres database."""
    connection = await connect(url)
    ours = {theirs: ours for ours, theirs in TYPES.items()} | {"ARRAY": "blob"}
    tables: dict[str, Table] = {}
    for table, name, kind, nullable in msgspec.convert(
        [tuple(row) for row in await connection.fetch(_COLUMNS)], list[tuple[str, str, str, str]]
    ):
        column = Column(name, ours.get(kind, kind), nullable == "NO")
        tables.setdefault(table, Table([], [], [])).columns.append(column)
    for table, key in msgspec.convert(
        [tuple(row) for row in await connection.fetch(_KEYS)], list[tuple[str, str]]
    ):
        words = re.sub("[A-Z]+", lambda word: word[0].lower(), key)
        tables[table].keys.append(re.sub(r"(\w)\(", r"\1 (", words))
    for table, name, definition in msgspec.convert(
        [tuple(row) for row in await connection.fetch(_INDEXES)], list[tuple[str, str, str]]
    ):
        tables[table].indexes.append(f"`{name}` {definition.partition(' USING btree ')[2]}")
    await connection.close()
    return tables


def render(sqlite: dict[str, Table], postgres: dict[str, Table]) -> str:
    """Write the page."""
    about, notes = _words()
    parts = [INTRODUCTION]
    for name, table in (sqlite | {name: postgres[name] for name in postgres.keys() - sqlite.keys()}).items():
        lines = [f"## {name}", "", about.get(name, "")]
        if name not in sqlite or name not in postgres:
            lines.append(f"On {'SQLite' if name in sqlite else 'Postgres'} only.")
        lines += ["", "| column | type | null | |", "| --- | --- | --- | --- |"]
        for column in table.columns:
            null, note = "" if column.required else "yes", notes.get((name, column.name), "")
            lines.append(f"| `{column.name}` | {column.type} | {null} | {note} |")
        lines += ["", *(f"- {key}" for key in table.keys), *(f"- index {index}" for index in table.indexes)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _sqlite_table(connection: Connection, table: str) -> Table:
    info = msgspec.convert(
        connection.execute(
            f"select name, type, \"notnull\", pk from pragma_table_info('{table}')"
        ).fetchall(),
        list[tuple[str, str, int, int]],
    )
    primary = [name for name, _, _, place in sorted(info, key=lambda column: column[3]) if place]
    keys = [f"primary key ({', '.join(primary)})"]
    listed = msgspec.convert(
        connection.execute(f"select name, origin from pragma_index_list('{table}') order by name").fetchall(),
        list[tuple[str, str]],
    )
    for name, origin in listed:
        if origin == "u":
            named = connection.execute(f"select name from pragma_index_info('{name}')").fetchall()
            keys.append(
                f"unique ({', '.join(column for (column,) in msgspec.convert(named, list[tuple[str]]))})"
            )
    links = msgspec.convert(
        connection.execute(
            f'select id, "table", "from", "to", on_delete from pragma_foreign_key_list(\'{table}\') order by id, seq'
        ).fetchall(),
        list[tuple[int, str, str, str, str]],
    )
    for number in dict.fromkeys(link[0] for link in links):
        ours = ", ".join(link[2] for link in links if link[0] == number)
        [(other, deleted), *_] = [(link[1], link[4]) for link in links if link[0] == number]
        theirs = ", ".join(link[3] for link in links if link[0] == number)
        cascade = " on delete cascade" if deleted == "CASCADE" else ""
        keys.append(f"foreign key ({ours}) references {other} ({theirs}){cascade}")
    made = msgspec.convert(
        connection.execute(
            "select name, sql from sqlite_schema where type = 'index' and sql is not null and tbl_name = ?",
            (table,),
        ).fetchall(),
        list[tuple[str, str]],
    )
    indexes = [
        f"`{name}` {'unique ' if 'UNIQUE' in sql else ''}{sql.partition(f' on {table} ')[2]}"
        for name, sql in sorted(made)
    ]
    columns = [Column(name, kind.lower(), bool(required or place)) for name, kind, required, place in info]
    return Table(columns, keys, indexes)


def _words() -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """What the migrations say of tables and columns; the last word counts, SQLite's before Postgres's."""
    about: dict[str, str] = {}
    notes: dict[tuple[str, str], str] = {}
    for dialect in ("postgres", "sqlite"):
        for migration in load_migrations(dialect):
            for comment, table, body in _TABLE.findall(migration.up):
                if comment:
                    about[table] = " ".join(line.removeprefix("-- ") for line in comment.splitlines())
                notes.update({(table, column): note for column, note in _NOTE.findall(body)})
            notes.update({(table, column): note for table, column, note in _ADDED.findall(migration.up)})
    about["schema_migrations"] = "The migrations that were applied."
    return about, notes


def main() -> None:
    """Say whether the page is current, or write it."""
    server = PostgresServer()
    try:
        page = render(sqlite_tables(), asyncio.run(postgres_tables(server.take_database())))
    finally:
        server.close()
    if "--write" in sys.argv:
        PAGE.write_text(page, "utf-8")
    elif page != PAGE.read_text("utf-8"):
        sys.exit("docs/db_reference.md is not current: run python -m tests.docs.db_reference --write")


if __name__ == "__main__":
    main()
