"""Every stable code is provoked: the tests together must raise each error the source of agio can say.

Each process notes the codes of the errors that are made in it; at the end of a run of the whole suite those that
nobody provoked fail it.
"""

from typing import Any, cast

import pytest

from agio.errors import AgioError
from tests.support.codes import error_codes
from tests.support.pages import ROOT

ELSEWHERE = {
    "cluster_failed": "tests/acceptance/cluster/test_trial.py",
    "gateway_name_taken": "tests/acceptance/cluster/test_bad_input.py",
    "missing_api_key": "tests/acceptance/server/test_keys.py",
    "missing_setting": "tests/acceptance/server/test_refusals.py",
    "not_for_workers": "tests/acceptance/cluster/test_bad_input.py",
    "port_taken": "tests/acceptance/server/test_refusals.py",
    "public_bind": "tests/acceptance/server/test_edge.py",
    "server_unreachable": "tests/acceptance/server/test_keys.py",
    "unknown_version": "tests/acceptance/server/test_keys.py",
}
"""Codes of commands that run as processes of their own, and the tests that read them there."""

_seen: set[str] = set()
_make = AgioError.__init__


def _noted(self: AgioError, code: str, *rest: Any, **named: Any) -> None:
    _seen.add(code)
    _make(self, code, *rest, **named)


def pytest_configure() -> None:
    """Note every error that is made from now on."""
    AgioError.__init__ = cast("Any", _noted)


def pytest_testnodedown(node: Any) -> None:
    """Take in what a process that ran tests has noted."""
    _seen.update(cast("list[str]", getattr(node, "workeroutput", {}).get("codes", [])))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand over what was noted, or judge it."""
    output = cast("dict[str, object] | None", getattr(session.config, "workeroutput", None))
    if output is not None:
        output["codes"] = sorted(_seen)
    elif _whole(session.config) and session.exitstatus == 0 and missing():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say which codes nobody provoked."""
    if _whole(config) and (codes := missing()):
        terminalreporter.write_line(f"No test provokes these codes: {', '.join(codes)}", red=True)


def missing() -> list[str]:
    """The codes that the source has and nobody provoked."""
    elsewhere = {code for code, file in ELSEWHERE.items() if code in (ROOT / file).read_text("utf-8")}
    return sorted(error_codes() - _seen - elsewhere)


def _whole(config: pytest.Config) -> bool:
    chosen = (config.option.keyword, config.option.markexpr, config.option.collectonly, config.option.maxfail)
    return config.args == config.getini("testpaths") and not any(chosen)
