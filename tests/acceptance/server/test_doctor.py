"""`agio doctor` on real stores: before the first start, beside a running server, and when something is wrong."""

import asyncio
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from agio.db.sqlite.database import open_unchecked
from agio.testing import ModelServer
from tests.acceptance.server.test_backup import agio
from tests.support.postgres import PostgresServer
from tests.support.process import Server, send, start_session

Found = dict[str, tuple[str, str, str]]


def doctor(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> tuple[int, Found]:
    """Run the doctor; return its exit code and what it found, by subject: state, message, advice."""
    done = agio(folder, "doctor", "--json", *arguments, environment=environment)
    assert done.stderr == ""
    findings = json.loads(done.stdout)["findings"]
    for finding in findings:
        assert (finding["state"] == "ok") == (finding["advice"] == ""), finding
    return done.returncode, {
        finding["subject"]: (finding["state"], finding["message"], finding["advice"]) for finding in findings
    }


def states(found: Found) -> dict[str, str]:
    return {subject: state for subject, (state, _, _) in found.items() if state != "ok"}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a store that nobody has open."""
    home = tmp_path_factory.mktemp("home")
    with Server(home) as server, server.client() as client:
        send(client, start_session(client), "hello")
        server.stop()
    return home


@pytest.fixture
def home(stopped: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    shutil.copytree(stopped / "data", tmp_path / "data")
    return tmp_path


def test_before_the_first_start_there_is_nothing_to_repair(tmp_path: Path) -> None:
    """S13: a fresh machine has no problem, and the table says so in words."""
    code, found = doctor(tmp_path, "--offline", "--data", str(tmp_path / "none"))
    assert (code, states(found)) == (0, {"data": "warning", "store": "warning", "models": "warning"})
    table = agio(tmp_path, "doctor", "--offline", "--data", str(tmp_path / "none"))
    assert "0 problems, 3 warnings." in table.stdout
    assert not (tmp_path / "none").exists()


def test_beside_a_running_server_all_is_well(tmp_path: Path) -> None:
    """S13: it reads what is being written, and says who runs."""
    with Server(tmp_path) as server, server.client() as client:
        send(client, start_session(client), "hello")
        port = server.url.rpartition(":")[2]
        code, found = doctor(tmp_path, "--offline", "--data", str(server.data), "--port", port)
        assert (code, states(found)) == (0, {"models": "warning"})
        assert str(server.process.pid) in found["server"][1]
        assert found["secrets"][0] == "ok"
        server.process.kill()
        server.wait()
        code, found = doctor(tmp_path, "--offline", "--data", str(server.data))
        assert "did not shut down cleanly" in found["server"][1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGIO_LIMITS", '{"running_per_usr": 1}'),
        ("AGIO_WORKER_KEY", "short"),
        ("AGIO_SECRET_KEY", "nonsense"),
        ("AGIO_EGRESS_ALLOW", "not a host!"),
        ("AGIO_LOG_FORMAT", "xml"),
        ("AGIO_TRUSTED_PROXIES", "everybody"),
    ],
)
def test_a_wrong_setting_is_a_problem_and_the_rest_is_looked_at(home: Path, name: str, value: str) -> None:
    """S13: the variable is named."""
    code, found = doctor(home, "--offline", "--data", str(home / "data"), environment={name: value})
    assert (code, found["settings"][0]) == (1, "problem")
    assert name in found["settings"][1]
    assert found["store"][0] == "ok"


def test_what_others_may_read_is_a_warning_and_an_open_key_a_problem(home: Path) -> None:
    """S13: modes of the folder, the store and the key."""
    data = home / "data"
    data.chmod(0o755)
    code, found = doctor(home, "--offline", "--data", str(data))
    assert (code, states(found)) == (0, {"data": "warning", "models": "warning"})
    assert "chmod" in found["data"][2]
    data.chmod(0o700)
    (data / "secret.key").chmod(0o644)
    code, found = doctor(home, "--offline", "--data", str(data))
    assert (code, found["secrets"][0]) == (1, "problem")


def test_damage_another_program_and_other_versions_are_told_apart(home: Path) -> None:
    """S13: a broken page, a foreign file, tables of a newer agio."""
    file = home / "data" / "agio.db"
    good = file.read_bytes()
    where = len(good) // 2 // 4096 * 4096
    file.write_bytes(good[:where] + os.urandom(4096) + good[where + 4096 :])
    code, found = doctor(home, "--offline", "--data", str(home / "data"))
    assert (code, found["store"][0]) == (1, "problem")
    assert "restore" in found["store"][2]
    file.write_bytes(good)
    connection = open_unchecked(file)
    connection.execute("insert into schema_migrations values (99, 'later', 0)")
    connection.close()
    code, found = doctor(home, "--offline", "--data", str(home / "data"))
    assert (code, found["store"][0]) == (1, "problem")
    assert "Upgrade" in found["store"][2]
    file.write_bytes(b"no database" * 1000)
    code, found = doctor(home, "--offline", "--data", str(home / "data"))
    assert (code, found["store"][0]) == (1, "problem")


def test_a_clock_that_went_back_is_a_warning(home: Path) -> None:
    """S13: the newest run did not begin in the future."""
    connection = open_unchecked(home / "data" / "agio.db")
    connection.execute("update runs set created_at = ?", (int((time.time() + 3600) * 1000),))
    connection.close()
    code, found = doctor(home, "--offline", "--data", str(home / "data"))
    assert (code, found["clock"][0]) == (0, "warning")


def test_secrets_whose_key_is_gone_are_counted(home: Path) -> None:
    """S13: stored credentials that no key opens are a problem."""
    connection = open_unchecked(home / "data" / "agio.db")
    connection.execute(
        "insert into secrets values ('default', 'prv_1', 'api_key', 'gone', x'00', 0), "
        "('default', 'prv_2', 'api_key', 'gone', x'00', 0)"
    )
    connection.close()
    code, found = doctor(home, "--offline", "--data", str(home / "data"))
    assert (code, found["secrets"][0]) == (1, "problem")
    assert "2 of 2" in found["secrets"][1]


def test_dead_jobs_are_counted(home: Path) -> None:
    """S13: their owners retry them; the server's own are seen nowhere else."""
    connection = open_unchecked(home / "data" / "agio.db")
    connection.execute("update jobs set state = 'dead' where kind = 'sweep'")
    connection.close()
    code, found = doctor(home, "--offline", "--data", str(home / "data"))
    assert (code, found["jobs"][:2]) == (0, ("warning", "1 dead"))


async def test_a_provider_is_called_once_and_told_apart_by_what_is_wrong(home: Path) -> None:
    """S13: reachable, a key that is not taken, nobody there, and no call at all when offline."""

    async def ask(url: str, key: str, *arguments: str) -> tuple[int, Found]:
        environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key}
        return await asyncio.to_thread(
            doctor, home, "--data", str(home / "data"), *arguments, environment=environment
        )

    async with ModelServer() as model:
        url = model.base_url("anthropic")
        code, found = await ask(url, "test-key")
        assert (code, found["model anthropic"][0]) == (0, "ok")
        assert len(model.calls) == 1
        code, found = await ask(url, "wrong-key-of-ours")
        assert (code, found["model anthropic"][0]) == (1, "problem")
        assert "wrong-key-of-ours" not in str(found)
        before = len(model.calls)
        code, found = await ask(url, "test-key", "--offline")
        assert (code, len(model.calls)) == (0, before)
    code, found = await ask(url, "test-key")
    assert (code, found["model anthropic"][0]) == (1, "problem")


def test_a_shared_database_is_looked_at_too(tmp_path: Path, postgres: PostgresServer) -> None:
    """S13: version, tables and clock of Postgres; one that cannot be reached is a problem."""
    url = postgres.take_database()
    try:
        code, found = doctor(tmp_path, "--offline", environment={"AGIO_DATABASE_URL": url})
        assert (code, states(found)) == (0, {"secrets": "warning", "models": "warning"})
        assert found["postgres"][0] == found["tables"][0] == found["clock"][0] == "ok"
    finally:
        postgres.give_back(url)
    nowhere = {"AGIO_DATABASE_URL": "postgresql://nobody:hidden@127.0.0.1:1/none"}
    code, found = doctor(tmp_path, "--offline", environment=nowhere)
    assert (code, found["store"][0]) == (1, "problem")
    assert "hidden" not in str(found)
