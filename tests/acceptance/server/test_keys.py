"""`agio keys` and `agio migrate`, on the data folder and by asking a server."""

import re
import time
from datetime import datetime
from pathlib import Path

from tests.support.command import Cli
from tests.support.process import KEY, Server

DAY_S = 86_400
MADE = re.compile(r"agio_[\w-]{43}\n")


def key_ids(listed: str) -> list[str]:
    return re.findall(r"^key_\w+", listed, re.MULTILINE)


def test_a_key_made_in_the_data_folder_opens_the_server_until_it_is_revoked(tmp_path: Path) -> None:
    """R2: made while no server runs, shown once, listed without itself, and ended."""
    cli = Cli(tmp_path)
    made = cli.run("keys", "create", "robot")
    assert MADE.fullmatch(made.stdout), made.stderr
    key = made.stdout.strip()
    with Server(tmp_path) as server, server.client(key) as client:
        assert client.get("/api/agents").status_code == 200
        # A key was there first, so the one of the environment was not taken.
        with server.client(KEY) as stranger:
            assert stranger.get("/api/agents").status_code == 401
        assert server.stop() == 0
    listed = cli.run("keys", "list").stdout
    assert "robot" in listed
    assert key not in listed
    (key_id,) = key_ids(listed)
    assert cli.run("keys", "revoke", key_id).stdout == f"{key_id} is revoked.\n"
    assert "revoked" in cli.run("keys", "list").stdout
    with Server(tmp_path) as server, server.client(key) as client:
        assert client.get("/api/agents").status_code == 401


def test_keys_of_a_running_server_are_made_and_ended_beside_it_or_by_asking_it(tmp_path: Path) -> None:
    """R2: on its machine, beside it, and from elsewhere with a key."""
    cli = Cli(tmp_path)
    with Server(tmp_path) as server:
        beside = cli.run("keys", "create", "beside").stdout.strip()
        with server.client(beside) as client:
            assert client.get("/api/agents").status_code == 200
        asking = ["--server", server.url]
        cli.environment["AGIO_API_KEY"] = KEY
        made = cli.run("keys", "create", "robot", *asking)
        assert MADE.fullmatch(made.stdout), made.stderr
        robot = made.stdout.strip()
        cli.environment["AGIO_API_KEY"] = robot
        assert len(key_ids(cli.run("keys", "list", *asking).stdout)) == 3
        cli.environment["AGIO_API_KEY"] = KEY
        newest = key_ids(cli.run("keys", "list", *asking).stdout)[0]
        assert cli.run("keys", "revoke", newest, *asking).returncode == 0
        assert "[key_not_found]" in cli.run("keys", "revoke", "key_nonsense", *asking).stderr
        cli.environment["AGIO_API_KEY"] = robot
        refused = cli.run("keys", "list", *asking)
        assert refused.returncode == 1
        assert "[unauthenticated]" in refused.stderr


def test_a_key_is_made_with_fewer_permissions_and_an_end(tmp_path: Path) -> None:
    """R2: in the data folder and by asking a server alike; the list shows both."""
    cli = Cli(tmp_path)
    narrow = ["--permission", "use", "--permission", "build", "--expires-in-days", "2"]
    for wrong in (["--permission", "all"], ["--expires-in-days", "0"], ["--expires-in-days", "3651"]):
        assert cli.run("keys", "create", "ci", *wrong).returncode == 2
    first = cli.run("keys", "create", "ci", *narrow).stdout.strip()
    [header, row] = cli.run("keys", "list").stdout.splitlines()
    assert re.split(r"\s{2,}", header.strip())[3::3] == ["PERMISSIONS", "EXPIRES"]
    [may, end] = re.split(r"\s{2,}", row.strip())[3::3]
    assert may == "build, use"
    assert abs(datetime.fromisoformat(end).timestamp() - (time.time() + DAY_S)) <= DAY_S * 1.1
    with Server(tmp_path) as server:
        asking = ["--server", server.url]
        cli.environment["AGIO_API_KEY"] = first
        made = cli.run("keys", "create", "child", "--permission", "use", "--expires-in-days", "1", *asking)
        with server.client(made.stdout.strip()) as child:
            assert child.get("/api/me").json()["permissions"] == ["use"]
            assert "[forbidden]" in cli.run("keys", "create", "x", "--permission", "own", *asking).stderr
            [_, newest, oldest] = cli.run("keys", "list", *asking).stdout.splitlines()
            assert re.split(r"\s{2,}", newest)[3] == "use"
            assert cli.run("keys", "revoke", oldest.split()[0], *asking).returncode == 0
            assert child.get("/api/me").status_code == 401


def test_a_server_that_is_not_there_or_no_agio_is_said_to_be(tmp_path: Path) -> None:
    """L13: one line with a code."""
    cli = Cli(tmp_path)
    for server, key, code in (
        ("http://127.0.0.1:9", KEY, "server_unreachable"),
        ("nonsense", KEY, "invalid_server_url"),
        ("http://127.0.0.1:9", "", "missing_api_key"),
    ):
        cli.environment["AGIO_API_KEY"] = key
        for command in (["keys", "list"], ["runs", "list"], ["chat"]):
            done = cli.run(*command, "--server", server, given="hello\n")
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr.endswith(f"[{code}]\n")
            assert done.stderr.count("\n") == 1


def test_the_tables_go_up_and_down(tmp_path: Path) -> None:
    """C1: `agio migrate` makes the tables, takes them back, and makes them again."""
    cli = Cli(tmp_path)
    for arguments, version in (((), r"[1-9]\d*"), (("--down", "0", "--yes"), "0"), ((), r"[1-9]\d*")):
        done = cli.run("migrate", *arguments)
        assert re.fullmatch(rf"The store {cli.store} now has schema version {version}\.\n", done.stdout), (
            done.stderr
        )
    asked = cli.run("migrate", "--down", "0")
    assert asked.returncode == 1
    assert "version 0: everything" in asked.stdout + asked.stderr
    wrong = cli.run("migrate", "--down", "99", "--yes")
    assert wrong.returncode == 1
    assert "[unknown_version]" in wrong.stderr
    with Server(tmp_path):
        assert "[store_locked]" in cli.run("migrate", "--down", "0", "--yes").stderr
