"""Checks of `agio doctor` that no test can provoke on a real machine."""

import shutil
import socket
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from agio.cli.operate.checks.machine import check_clock, check_disk, check_libraries, check_port, check_python
from agio.cli.operate.checks.models import providers_of
from agio.drivers.endpoint import Endpoint
from agio.settings import Settings


@pytest.mark.parametrize(("free", "state"), [(2**35, "ok"), (2**29, "warning"), (2**20, "problem")])
def test_a_disk_is_judged_by_its_room(monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    """S13: a folder that is not there yet is judged by where it would be."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(0, 0, free))  # pyright: ignore
    assert check_disk(Path("/nowhere/at/all")).state == state


@pytest.mark.parametrize(
    ("skew_ms", "state"), [(0, "ok"), (4000, "ok"), (-9000, "warning"), (60_000, "warning")]
)
def test_a_databases_clock_is_compared_with_ours(skew_ms: int, state: str) -> None:
    """S13: leases are counted by the database's clock."""
    assert check_clock(0, skew_ms).state == state


def test_a_clock_before_agio_was_made_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """S13: a machine without a battery begins in 1970."""
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    assert check_clock(0, 0).state == "problem"


def test_old_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """S13: a version below what agio needs, or none."""
    versions = {"apsw": "3.1", "msgspec": metadata.version("msgspec")}

    def version(name: str) -> str:
        if name in versions:
            return versions[name]
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    found = check_libraries()
    assert found.state == "problem"
    assert "apsw 3.1 is older than" in found.message
    assert "uvicorn is missing" in found.message
    assert "msgspec" not in found.message


def test_an_old_python_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """S13: below 3.11 nothing works."""
    assert check_python().state == "ok"
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert check_python().state == "problem"


def test_a_port_that_is_taken_is_no_trouble_if_a_server_runs() -> None:
    """S13: it is most likely ours."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert check_port(port, served=True).state == "ok"
        assert check_port(port, served=False).state == "warning"
    assert check_port(port, served=False).state == "ok"


def test_of_openais_two_formats_one_is_tried() -> None:
    """S13: another's address most likely speaks Chat Completions."""
    ours, theirs = Endpoint(api_key="k"), Endpoint(base_url="http://127.0.0.1:1", api_key="k")
    own = {"openai": ours, "openai-chat": ours, "gemini": ours, "anthropic": Endpoint()}
    assert providers_of(Settings(Path(), own)) == ["openai", "gemini"]
    assert providers_of(Settings(Path(), {"openai": theirs, "openai-chat": theirs})) == ["openai-chat"]
