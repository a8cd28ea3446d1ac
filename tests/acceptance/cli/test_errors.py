"""What can be expected to go wrong ends as one line with a code, never as a traceback."""

from pathlib import Path

import pytest

from tests.support.command import WAIT_S, Cli


def _refused(cli: Cli, code: str, *arguments: str, given: str = "hello\n") -> str:
    done = cli.run(*arguments, given=given)
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"[{code}]" in done.stderr
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ("openai:gpt-5", "missing_provider_key"),
        ("anthropic:claude", "missing_provider_key"),
        ("opnai:gpt-5", "unknown_provider"),
        ("gpt-5", "invalid_model"),
    ],
)
def test_a_model_that_cannot_be_called_is_refused(cli: Cli, model: str, code: str) -> None:
    """L13: a wrong name or a missing key is said before anything is asked."""
    _refused(cli, code, "chat", "--model", model)
    assert not cli.store.exists()


def test_a_base_url_that_is_none_is_refused(cli: Cli) -> None:
    """L13: what is no address is said to be none."""
    _refused(cli, "invalid_base_url", "chat", "--model", "openai-chat:x", "--base-url", "nonsense")


def test_an_unreachable_model_fails_the_run(cli: Cli) -> None:
    """L13: a service that is not there is an event of the run, and exit code 1."""
    done = cli.run("chat", "--model", "openai-chat:x", "--base-url", "http://127.0.0.1:9/v1", given="hello\n")
    assert done.returncode == 1
    assert "[connection_failed]" in done.stderr
    assert "Traceback" not in done.stderr
    assert cli.stored()[0].status == "failed"


@pytest.mark.parametrize("arguments", [("chat",), ("runs", "list"), ("runs", "show", "last")])
def test_a_damaged_store_is_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    """L13: a file that is no store is left alone."""
    cli.data.mkdir()
    cli.store.write_bytes(b"this is no database" * 1000)
    _refused(cli, "store_corrupt", *arguments)
    assert cli.store.read_bytes() == b"this is no database" * 1000


def test_a_store_in_use_can_be_read_and_not_written(cli: Cli) -> None:
    """L10: a second chat is refused, while runs are listed, shown and replayed beside the first."""
    with cli.start("chat") as process:
        assert process.stdin is not None
        process.stdin.write(b"what is 6 * 7?\n")
        process.stdin.flush()
        cli.wait_for_events(1)
        cli.wait_for_end()
        _refused(cli, "store_locked", "chat")
        assert "completed" in cli.run("runs", "list").stdout
        assert "→ 42" in cli.run("runs", "show", "last").stdout
        assert "**42**" in cli.run("runs", "replay", "last", "--fast").stdout
        process.stdin.close()
        assert process.wait(WAIT_S) == 0


def test_a_store_that_does_not_exist_is_said_to(cli: Cli, tmp_path: Path) -> None:
    """L13: reading makes no file."""
    missing = tmp_path / "missing.db"
    for command in (["list"], ["show", "last"], ["replay", "last"]):
        assert "no such file" in _refused(cli, "store_unavailable", "runs", *command, "--store", str(missing))
    assert not missing.exists()


def test_a_run_that_does_not_exist_is_said_to(cli: Cli) -> None:
    """L13: an unknown id and one that fits many are errors."""
    cli.chat("think about it", "think about it again")
    _refused(cli, "run_not_found", "runs", "show", "run_nonsense")
    _refused(cli, "run_not_found", "runs", "replay", "run_nonsense", "--json")
    _refused(cli, "run_ambiguous", "runs", "show", "run_")


@pytest.mark.parametrize(
    "arguments",
    [
        ("dance",),
        ("chat", "--dance"),
        ("chat", "--agent", "demo"),
        ("chat", "--session", "ses_1"),
        ("chat", "--server", "http://127.0.0.1:9", "--model", "demo:demo"),
        ("runs", "show"),
        ("runs", "list", "--limit", "x"),
    ],
)
def test_a_wrong_command_line_has_exit_code_2(cli: Cli, arguments: tuple[str, ...]) -> None:
    """L13: the usage is told, also of an option that would have no effect."""
    done = cli.run(*arguments)
    assert done.returncode == 2
    assert "Usage: agio" in done.stderr.replace("python -m agio.cli.main", "agio")
    assert "Traceback" not in done.stderr
