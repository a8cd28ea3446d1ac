"""Fixtures of the store's tests."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agio.db import migrations
from agio.db.queries import SQL_FOLDER


@pytest.fixture
def later_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """One migration more than there is, in both dialects; its version."""
    version = migrations.known_version("sqlite") + 1
    folder = shutil.copytree(SQL_FOLDER, tmp_path / "sql")
    for dialect in ("sqlite", "postgres"):
        (folder / dialect / f"{version:03}_later.up.sql").write_text(
            "create table later (id text primary key);"
        )
        (folder / dialect / f"{version:03}_later.down.sql").write_text("drop table later;")
    monkeypatch.setattr(migrations, "SQL_FOLDER", folder)
    migrations.load_migrations.cache_clear()
    yield version
    migrations.load_migrations.cache_clear()
