"""The checks of the source find what they are for."""

import pytest

from tests.checks import dependencies, source


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "exec(text)",
        "import pickle",
        "from pickle import loads",
        "import httpx",
        "from urllib import request",
        "import urllib.request",
        "import requests.sessions",
        "import os\nos.system(command)",
        "run(command, shell=True)",
        "jwt.decode(token, verify=False)",
        "context.verify_mode = ssl.CERT_NONE",
        "import hashlib\nhashlib.md5(data)",
        'connection.execute("select name from users")',
        'connection.execute(f"delete from {table}")',
        'connection.execute("UPDATE users SET role = 1")',
    ],
)
def test_what_is_forbidden_is_found(line: str) -> None:
    """S14: each of these, planted in a file of the source, is named with its line."""
    assert list(source.faults("gateway/planted.py", line))


def test_what_is_allowed_is_allowed_in_its_place_alone() -> None:
    """S14: the guard may use its HTTP client; a file beside it may not."""
    assert not list(source.faults("egress.py", "import httpx"))
    assert list(source.faults("egress.py", "import requests"))
    assert list(source.faults("tools/egress.py", "import httpx"))


def test_the_source_does_nothing_that_is_forbidden(capsys: pytest.CaptureFixture[str]) -> None:
    """S14: no raw SQL, no HTTP client outside the guard, no eval, no pickle."""
    assert source.main() == 0, capsys.readouterr().out


def test_known_holes_fail_and_silence_is_no_proof() -> None:
    """S14: a hole fails the check; an index without the data is said to have been no check."""
    skipped = '{"name": "y", "skip_reason": "-"}'
    hole = f'{{"dependencies": [{{"name": "x", "version": "1", "vulns": [{{"id": "CVE-1"}}]}}, {skipped}]}}'
    assert dependencies.report(hole) == (1, "x 1: CVE-1\npip-audit: 1 of 2 packages checked, 1 known holes")
    for silence in ("", f'{{"dependencies": [{skipped}]}}', "null"):
        assert dependencies.report(silence) == (
            0,
            "pip-audit: not run, its data cannot be reached from here",
        )
