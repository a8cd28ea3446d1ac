"""`agio doctor`: checks everything a server needs, before the first start or while one is running."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.text import Text

from agio.cli.operate.checks.finding import Finding, State, ok, problem
from agio.cli.operate.checks.machine import (
    check_clock,
    check_disk,
    check_libraries,
    check_pages,
    check_port,
    check_python,
)
from agio.cli.operate.checks.models import check_models
from agio.cli.operate.checks.store import check_folder, check_holder, check_jobs, check_secrets, check_store
from agio.cli.terminal.output import make_console
from agio.cli.terminal.tables import new_table
from agio.db.operate.inspection import StoreReport
from agio.egress.allowance import Allowance
from agio.errors import AgioError
from agio.server.composition import database_of
from agio.settings import ServerSettings, Settings, load_server_settings, load_settings

_STYLES: dict[State, str] = {"ok": "green", "warning": "yellow", "problem": "bold red"}


async def examine(data: Path | None, *, port: int, offline: bool, as_json: bool) -> int:
    """Run every check and print the findings; return the exit code, 1 if there is a problem."""
    settings = load_settings()
    findings, server = _check_settings()
    findings += [check_python(), check_libraries(), check_pages()]
    findings += await _check_home(settings, server, data, port)
    findings += await check_models(settings, offline=offline)
    if as_json:
        print(msgspec.json.encode({"findings": findings}).decode())
    else:
        _print(findings)
    return 1 if any(finding.state == "problem" for finding in findings) else 0


def _check_settings() -> tuple[list[Finding], ServerSettings]:
    try:
        server = load_server_settings()
        Allowance(server.egress_allow)
    except AgioError as error:
        # The other checks use the defaults.
        return [problem("settings", error.message, "See docs/configuration.md.")], ServerSettings()
    return [ok("settings", "all valid")], server


async def _check_home(
    settings: Settings, server: ServerSettings, data: Path | None, port: int
) -> list[Finding]:
    database = database_of(settings, server, data)
    findings: list[Finding] = []
    served = False
    if isinstance(database, Path):
        findings += check_folder(database)
        findings.append(check_disk(database.parent))
        holder, served = check_holder(database)
        findings.append(holder)
    found, report = await check_store(database)
    findings += found
    if report is not None and report.version == report.newest and not report.damage:
        findings.append(await check_secrets(database, list(server.secret_keys)))
        findings.append(await check_jobs(database))
    seen = report or StoreReport(version=0, newest=0)
    findings.append(check_clock(seen.newest_run_at, seen.skew_ms))
    findings.append(check_port(port, served=served or isinstance(database, str)))
    return findings


def _print(findings: Sequence[Finding]) -> None:
    console = make_console()
    table = new_table()
    for heading in ("", "CHECK", "RESULT"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        words = Text(finding.message)
        if finding.advice:
            words.append(f"\n{finding.advice}", "italic")
        table.add_row(Text(finding.state, _STYLES[finding.state]), finding.subject, words)
    console.print(table)
    counts = [sum(finding.state == state for finding in findings) for state in ("problem", "warning")]
    console.print(f"\n{counts[0]} problems, {counts[1]} warnings.")
