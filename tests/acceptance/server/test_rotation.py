"""`agio keys rotate` in a process of its own: every secret opens with the new master key alone, whatever happens."""

import asyncio
import os
import secrets
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from agio.cli.operate.rotation import rotate
from agio.core.provider import KEY_FIELD, ProviderFields, Sealed, SecretPlace
from agio.core.store.store import Store
from agio.db.repository import open_store
from agio.server.stores import open_database
from agio.vault import KEY_FILE, Vault, key_id
from tests.support.command import AGIO, WAIT_S, Cli
from tests.support.process import Server

T = TypeVar("T")

OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)
COUNT = 40


def _in(database: str | Path, act: Callable[[Store], Awaitable[T]]) -> T:
    async def done() -> T:
        store = await open_database(database)
        try:
            return await act(store)
        finally:
            await store.close()

    return asyncio.run(done())


async def _fill(store: Store) -> None:
    vault = Vault([OLD])
    await store.add_tenant("other", "Other")
    for number in range(COUNT):
        tenant, provider = ("default", "other")[number % 2], f"prv_{number}"
        key = vault.seal(SecretPlace(tenant, provider, KEY_FIELD), f"sk-{number}")
        fields = ProviderFields(name=f"p{number}", kind="openai")
        await store.create_provider(tenant, provider, fields, key)


async def _opened(store: Store, vault: Vault) -> set[str]:
    """What a vault can open, of all there is."""
    found = await store.secrets_to_rotate("", None, 1000)
    return {vault.open(place, sealed) for place, sealed in found if vault.knows(sealed.key_id)}


def _rotate(cli: Cli, *arguments: str) -> subprocess.CompletedProcess[str]:
    return cli.run("keys", "rotate", *arguments)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """A store with secrets under the old key."""
    place: str | Path = tmp_path / "data" / "agio.db"
    if request.param == "postgres":
        place = str(request.getfixturevalue("postgres_url"))
    else:
        (tmp_path / "data").mkdir()
    _in(place, _fill)
    return place


def _cli(tmp_path: Path, database: str | Path, *keys: bytes) -> Cli:
    cli = Cli(tmp_path)
    cli.environment["AGIO_SECRET_KEY"] = ",".join(key.hex() for key in keys)
    if isinstance(database, str):
        cli.environment["AGIO_DATABASE_URL"] = database
    return cli


def test_every_secret_opens_with_the_new_key_alone(tmp_path: Path, database: str | Path) -> None:
    """C4: all of every team, in batches, told on standard error; done again it has nothing to do."""
    cli = _cli(tmp_path, database, NEW, OLD)
    done = _rotate(cli, "--batch", "7")
    assert done.returncode == 0, done.stderr
    assert f"{COUNT} secrets" in done.stdout
    assert key_id(NEW) in done.stdout
    assert done.stderr.splitlines()[0] == "7 re-encrypted"
    assert len(done.stderr.splitlines()) == 6
    every = {f"sk-{number}" for number in range(COUNT)}
    assert _in(database, lambda store: _opened(store, Vault([NEW]))) == every
    again = _rotate(cli)
    assert again.returncode == 0
    assert "0 secrets" in again.stdout
    for hidden in (OLD.hex(), NEW.hex(), "sk-"):
        assert hidden not in done.stdout + done.stderr


def test_a_rotation_that_was_killed_is_taken_up_again(tmp_path: Path, database: str | Path) -> None:
    """C4: kill -9 after some batches: what was done is done, nothing is lost, the rest follows."""
    cli = _cli(tmp_path, database, NEW, OLD)
    with subprocess.Popen(
        [*AGIO, "keys", "rotate", "--batch", "1"],
        env=cli.environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("5 "):
                os.kill(process.pid, signal.SIGKILL)
                break
        assert process.wait(WAIT_S) == -signal.SIGKILL
    every = {f"sk-{number}" for number in range(COUNT)}
    halfway = _in(database, lambda store: _opened(store, Vault([NEW])))
    assert 5 <= len(halfway) < COUNT
    assert _in(database, lambda store: _opened(store, Vault([OLD, NEW]))) == every
    done = _rotate(cli)
    assert done.returncode == 0, done.stderr
    assert f"{COUNT - len(halfway)} secrets" in done.stdout
    assert _in(database, lambda store: _opened(store, Vault([NEW]))) == every


def test_what_no_key_opens_is_counted_and_left(tmp_path: Path, database: str | Path) -> None:
    """C4: the exit code is 1, the others are rotated all the same, and the row stays as it was."""
    lost = SecretPlace("default", "prv_0", KEY_FIELD)

    async def damage(store: Store) -> Sealed:
        sealed = await store.get_secret(lost)
        assert sealed is not None
        unknown = Sealed("00000000", sealed.data)
        assert await store.replace_secrets([(lost, sealed, unknown)]) == 1
        return unknown

    unknown = _in(database, damage)
    done = _rotate(_cli(tmp_path, database, NEW, OLD), "--batch", "3")
    assert done.returncode == 1
    assert f"{COUNT - 1} secrets" in done.stdout
    assert "1 could not be decrypted" in done.stdout
    assert "prv_0" in done.stderr
    assert _in(database, lambda store: store.get_secret(lost)) == unknown
    assert len(_in(database, lambda store: _opened(store, Vault([NEW])))) == COUNT - 1


def test_the_file_of_a_running_server_is_left_alone(tmp_path: Path) -> None:
    """C4: the refusal says to stop the server; after that the key in the file is rotated like any other."""
    cli = Cli(tmp_path)
    with Server(tmp_path) as server, server.client() as client:
        made = client.post("/api/providers", json={"name": "acme", "kind": "openai", "api_key": "sk-1"})
        assert made.status_code == 201, made.text
        refused = _rotate(cli)
        assert refused.returncode == 1
        assert "Stop that server" in refused.stderr
        assert server.stop() == 0
    file = cli.data / KEY_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(f"{NEW.hex()}\n{file.read_text()}")
    done = _rotate(cli)
    assert done.returncode == 0, done.stderr
    assert "1 secrets" in done.stdout
    assert _in(cli.store, lambda store: _opened(store, Vault([NEW]))) == {"sk-1"}


def test_a_shared_database_without_a_key_says_what_to_set(tmp_path: Path, postgres_url: str) -> None:
    """C4: there is no file beside a database of several gateways."""
    cli = Cli(tmp_path)
    cli.environment["AGIO_DATABASE_URL"] = postgres_url
    refused = _rotate(cli)
    assert refused.returncode != 0
    assert "AGIO_SECRET_KEY" in refused.stderr


async def test_a_secret_that_is_entered_meanwhile_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C4: a server goes on while its database is rotated; the newer secret wins, and is sealed anew in turn."""
    store = await open_store(":memory:")
    await _fill(store)
    old, both = Vault([OLD]), Vault([NEW, OLD])
    place = SecretPlace("default", "prv_0", KEY_FIELD)
    replace = store.replace_secrets

    async def entered(changes: list[tuple[SecretPlace, Sealed, Sealed]]) -> int:
        monkeypatch.undo()
        key = old.seal(place, "sk-newer")
        await store.update_provider("default", "prv_0", ProviderFields(name="p0", kind="openai"), key)
        return await replace(changes)

    monkeypatch.setattr(store, "replace_secrets", entered)
    done = await rotate(store, both, 100)
    assert (done.rotated, done.missed, done.unreadable) == (COUNT, 0, 0)
    sealed = await store.get_secret(place)
    assert sealed is not None
    assert Vault([NEW]).open(place, sealed) == "sk-newer"
    assert len(await _opened(store, Vault([NEW]))) == COUNT
    await store.close()
    assert "sk-" not in capsys.readouterr().err
