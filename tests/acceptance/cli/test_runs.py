"""`agio runs`: what is stored, as a table, as a page, as a film, and byte by byte."""

import json
import re
import time
from itertools import pairwise
from typing import cast

from agio.db.repository import open_store
from tests.support.command import Cli

CUT_S = 5.0
"""No pause of a run is replayed longer."""


def test_runs_are_listed_newest_first(cli: Cli) -> None:
    """L10: a row has the id, agent, model, status, times, size and title of a run."""
    cli.chat("what is 6 * 7?", "think about it")
    newer, older = cli.runs()
    header, *rows = cli.run("runs", "list").stdout.splitlines()
    assert header.split() == ["RUN", "AGENT", "MODEL", "STATUS", "STARTED", "TOOK", "EVENTS", "TITLE"]
    assert [row.split()[:4] for row in rows] == [
        [newer["run_id"], "demo", "demo:demo", "completed"],
        [older["run_id"], "demo", "demo:demo", "completed"],
    ]
    assert rows[0].rstrip().endswith("think about it")
    assert re.search(r", (just now|\d+ min ago) ", rows[0])


def test_runs_are_listed_by_agent_thread_and_number(cli: Cli) -> None:
    """L10: options narrow the list."""
    cli.chat("think about it", options=["--thread", "one"])
    cli.chat("think about it", "think again", options=["--thread", "two"])
    assert len(cli.runs("--thread", "two")) == 2
    assert len(cli.runs("--limit", "1")) == 1
    assert len(cli.runs("--agent", "demo")) == 3
    assert "No run matches" in cli.run("runs", "list", "--agent", "nobody").stdout


def test_an_empty_list_says_how_to_make_a_run(cli: Cli) -> None:
    """L15: before the first chat there is no store, and that is no error."""
    done = cli.run("runs", "list")
    assert done.returncode == 0
    assert "agio chat" in done.stdout
    assert cli.runs() == []


def test_a_run_is_shown_with_its_messages_tools_and_figures(cli: Cli) -> None:
    """L10: the page is the fold of the log."""
    cli.chat("what is 12 * (3 + 4)?")
    page = cli.run("runs", "show", "last").stdout
    run = cli.stored()[0]
    for part in (
        f"{run.run_id}  completed",
        run.session_id,
        "> what is 12 * (3 + 4)?",
        "I should use the calculator.",
        "✓ calculator",
        '{"expression": "12 * (3 + 4)"}',
        "→ 84",
        "The tool says: **84**",
        "FIRST TOKEN",
    ):
        assert part in page, part
    figures = [line.split() for line in page.splitlines() if line.split()[:1] in (["1"], ["2"], ["all"])]
    tokens = [[int(cell) for cell in row[1:5]] for row in figures]
    assert [sum(column) for column in zip(*tokens[:2], strict=True)] == tokens[2]
    assert all(count > 0 for count in tokens[2][:2])


def test_a_run_that_answers_a_question_shows_the_call_it_was_about(cli: Cli) -> None:
    """L10: name and arguments of the call come from the run before."""
    cli.chat("send a postcard to Ada")
    for command in (["show", "last"], ["replay", "last", "--fast"]):
        page = cli.run("runs", *command).stdout
        assert "send_postcard" in page
        assert "Greetings to Ada" in page
        assert "Not approved" in page


def test_a_failed_run_is_shown_with_its_error(cli: Cli) -> None:
    """L13: the code and the message are on the page."""
    cli.run("chat", given="fail\n")
    page = cli.run("runs", "show", "last").stdout
    assert "failed: demo_failure" in page
    assert "The demo model failed because it was asked to." in page


def test_a_run_is_found_by_a_part_of_its_id(cli: Cli) -> None:
    """L10: the whole id, its beginning, its end, or `last`."""
    cli.chat("think about it", "what is 6 * 7?")
    run_id = cli.stored()[1].run_id
    for name in (run_id, run_id[:-1], run_id.removeprefix("run_"), run_id[-8:]):
        assert cli.run("runs", "show", name).stdout.startswith(run_id)


async def test_a_replay_as_json_is_the_stored_log_byte_for_byte(cli: Cli) -> None:
    """L10: what is printed is what was streamed."""
    cli.chat("what is 6 * 7?", "be flaky", "send a postcard to Ada")
    store = await open_store(cli.store, read_only=True)
    try:
        for run in await store.list_runs():
            log = await store.get_log(run.run_id)
            assert cli.run("runs", "replay", run.run_id, "--json").stdout.encode() == log.payload
    finally:
        await store.close()


def test_a_replay_takes_as_long_as_the_run_and_a_fast_one_does_not(cli: Cli) -> None:
    """L10: the same text at the original speed or at once."""
    cli.chat("hello")
    pages: list[str] = []
    times: list[float] = []
    for options in ([], ["--fast"]):
        began = time.monotonic()
        pages.append(cli.run("runs", "replay", "last", *options).stdout)
        times.append(time.monotonic() - began)
    log = cli.run("runs", "replay", "last", "--json").stdout.splitlines()
    told = [cast("dict[str, int]", json.loads(line))["timestamp"] / 1000 for line in log]
    assert times[0] >= sum(min(later - before, CUT_S) for before, later in pairwise(told))
    assert pages[0] == pages[1]
    assert pages[0].startswith("> hello\n")
    assert "I am the **demo model** of agio" in pages[0]


def test_help_and_version_are_told(cli: Cli) -> None:
    """L15: the first things people type."""
    assert cli.run("--version").stdout.startswith("agio ")
    assert "chat" in cli.run("--help").stdout
    assert "replay" in cli.run("runs", "--help").stdout
