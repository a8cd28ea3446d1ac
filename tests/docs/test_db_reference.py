"""The database reference says what the migrations make."""

from tests.docs.db_reference import PAGE, postgres_tables, render, sqlite_tables


async def test_the_database_reference_is_current(postgres_url: str) -> None:
    """C1: the page is made from the migrated schemas (python -m tests.docs.db_reference --write)."""
    assert PAGE.read_text("utf-8") == render(sqlite_tables(), await postgres_tables(postgres_url))


async def test_both_databases_have_the_same_columns(postgres_url: str) -> None:
    """B2: a table that both have has the same columns with the same meaning of null; only the log differs."""
    sqlite, postgres = sqlite_tables(), await postgres_tables(postgres_url)
    index = {"passage_words", *(f"passage_words_{part}" for part in ("data", "idx", "docsize", "config"))}
    assert (sqlite.keys() ^ postgres.keys()) - index == {"tail", "logs", "frames"}
    for name in sqlite.keys() & postgres.keys():
        assert sqlite[name].columns == postgres[name].columns, name
