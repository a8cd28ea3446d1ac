"""The store: its folder and permissions, its tables, its integrity, and whether its secrets can be decrypted."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from agio.cli.operate.checks.finding import Finding, ok, problem, warning
from agio.core.provider import SecretPlace
from agio.core.store.store import Store
from agio.db.operate.inspection import StoreReport, inspect_database, inspect_file
from agio.db.repository import open_store
from agio.db.sqlite.lock import holder_of
from agio.errors import AgioError, StoreError
from agio.server.announcement import place_of
from agio.server.stores import open_database
from agio.vault import KEY_FILE, Vault, key_file

LOOK_S = 10.0
OLDEST_POSTGRES = 14
_BATCH = 100
_MOST_SECRETS = 10_000
_ADVICE = {
    "store_corrupt": "Stop the server and restore a backup: agio restore FILE.",
    "store_newer": "Upgrade agio, or restore a backup from before the upgrade.",
    "store_prerelease": "Start with an empty data folder or database, or keep using that version.",
    "store_unavailable": "Check the path, the address, the user and the permissions.",
}


def check_folder(store: Path) -> Iterator[Finding]:
    """The data folder and its files: present, writable, and private to this user."""
    folder = store.parent
    if not folder.exists():
        yield warning("data", f"there is no {folder} yet", "No action needed: the first start creates it.")
        return
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield problem(
            "data", f"{folder} cannot be written", "Give its owner read, write and search permission."
        )
        return
    open_to_others = [
        f"{path} ({path.stat().st_mode & 0o777:04o})"
        for path in (folder, store, store.with_name(store.name + "-wal"))
        if path.exists() and path.stat().st_mode & 0o077
    ]
    if open_to_others:
        yield warning(
            "data", f"other users can read {', '.join(open_to_others)}", f"chmod -R u=rwX,go= {folder}"
        )
    else:
        yield ok("data", f"{folder}, private to this user")


def check_holder(store: Path) -> tuple[Finding, bool]:
    """Return which process has the store, and whether one does."""
    holder = holder_of(store)
    if holder is None:
        return ok("server", "none running on this store"), False
    who = f"process {holder.pid} on {holder.host}"
    if holder.host != socket.gethostname():
        return ok("server", f"{who} has the store"), True
    if not _is_alive(holder.pid):
        return ok("server", f"{who} did not shut down cleanly; the next start continues its runs"), False
    return ok("server", f"{who} is running on this store"), True


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


async def check_store(database: str | Path) -> tuple[list[Finding], StoreReport | None]:
    """Whether the store can be read, and its report."""
    if isinstance(database, Path) and not os.path.exists(database):  # noqa: ASYNC240 (a command, not a server)
        return [
            warning("store", f"there is no {database} yet", "No action needed: the first start creates it.")
        ], None
    try:
        if isinstance(database, str):
            report = await inspect_database(database)
        else:
            report = await asyncio.to_thread(inspect_file, database, LOOK_S)
    except StoreError as error:
        return [problem("store", error.message, _ADVICE.get(error.code, "See the message."))], None
    return list(_judge(database, report)), report


def _judge(database: str | Path, report: StoreReport) -> Iterator[Finding]:
    if report.damage:
        yield problem("store", f"{database} is damaged: {report.damage}", _ADVICE["store_corrupt"])
    elif not report.thorough:
        yield ok("store", f"{database}: no damage found in {LOOK_S:g} s of checking")
    else:
        yield ok("store", place_of(database))
    if report.server_version and report.server_version // 10_000 < OLDEST_POSTGRES:
        found = report.server_version // 10_000
        yield problem("postgres", f"version {found}", f"Use version {OLDEST_POSTGRES} or newer.")
    elif report.server_version:
        yield ok("postgres", f"version {report.server_version // 10_000}")
    if report.version == report.newest:
        yield ok("tables", f"version {report.version}, the newest")
    else:
        words = f"version {report.version}, this agio uses {report.newest}"
        yield warning("tables", words, "Back up (agio backup), then start the server or run agio migrate.")


async def check_secrets(database: str | Path, keys: list[bytes]) -> Finding:
    """Whether the master keys decrypt the stored secrets."""
    try:
        vault = _vault(database, keys)
        unopened, count = await _try_secrets(database, vault)
    except AgioError as error:
        return problem(
            "secrets", error.message, "Correct the master key. Stored credentials cannot be used without it."
        )
    if unopened:
        return problem(
            "secrets",
            f"{unopened} of {count} stored secrets cannot be decrypted",
            f"Add the master key they were encrypted with to AGIO_SECRET_KEY or {KEY_FILE}, or enter them again.",
        )
    if vault is None:
        words = "no master key yet"
        if isinstance(database, str):
            return warning("secrets", words, "Set AGIO_SECRET_KEY so that teams can store credentials.")
        return ok("secrets", f"{words}; the first start creates {database.parent / KEY_FILE}")
    return ok("secrets", f"{count} stored, all can be decrypted")


async def check_jobs(database: str | Path) -> Finding:
    """How many background jobs are dead."""
    try:
        store = await _open(database)
        try:
            dead = (await store.count_jobs())["dead"]
        finally:
            await store.close()
    except AgioError as error:
        return problem("jobs", error.message, "See the message.")
    if dead:
        return warning(
            "jobs", f"{dead} dead", "GET /api/jobs?state=dead says why; correct it and retry them."
        )
    return ok("jobs", "none dead")


def _vault(database: str | Path, keys: list[bytes]) -> Vault | None:
    if isinstance(database, Path):
        kept = database.parent / KEY_FILE
        if kept.exists():
            keys = [*keys, *key_file(kept)]
    return Vault(keys) if keys else None


async def _open(database: str | Path) -> Store:
    if isinstance(database, Path):
        return await open_store(database, read_only=True)
    return await open_database(database)


async def _try_secrets(database: str | Path, vault: Vault | None) -> tuple[int, int]:
    """Return how many secrets cannot be decrypted, and how many were tried."""
    store = await _open(database)
    unopened = count = 0
    after: SecretPlace | None = None
    try:
        while count < _MOST_SECRETS:
            batch = await store.secrets_to_rotate("", after, _BATCH)
            if not batch:
                break
            for place, sealed in batch:
                count += 1
                try:
                    if vault is None:
                        unopened += 1
                    else:
                        vault.open(place, sealed)
                except StoreError:
                    unopened += 1
            after = batch[-1][0]
    finally:
        await store.close()
    return unopened, count
