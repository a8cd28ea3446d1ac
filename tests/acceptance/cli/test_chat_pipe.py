"""`agio chat` in a pipe: lines in, plain text out, an exit code that can be trusted."""

import signal
import subprocess

from tests.acceptance.held_model import BEGIN, END, HeldModel
from tests.support.command import WAIT_S, Cli

HELD = ("chat", "--model", "openai-chat:test-model")


def test_a_piped_question_is_answered_in_plain_text(cli: Cli) -> None:
    """L15: the answer and the tools it used are on standard output, without control codes."""
    output = cli.chat("what is 12 * (3 + 4)?")
    assert "The tool says: **84**" in output
    assert '[tool calculator {"expression":"12 * (3 + 4)"} -> 84 (' in output
    assert "\x1b" not in output


def test_two_lines_are_one_conversation(cli: Cli) -> None:
    """L15: every line is a message of the same thread."""
    output = cli.chat("what is 6 * 7?", "", "think about it")
    assert output.index("**42**") < output.index("I thought about it.")
    newer, older = cli.stored()
    assert newer.session_id == older.session_id


def test_a_thread_goes_on_in_another_process(cli: Cli) -> None:
    """L10: `--thread` and `--store` name the conversation and its file."""
    options = ["--thread", "notes", "--store", str(cli.home / "other.db")]
    cli.chat("think about it", options=options)
    cli.chat("what is 2 + 2?", options=options)
    runs = cli.stored(cli.home / "other.db")
    assert [(run.session_id, run.title) for run in runs] == [
        ("notes", "what is 2 + 2?"),
        ("notes", "think about it"),
    ]
    assert not cli.store.exists()


def test_an_answer_that_broke_off_is_not_in_the_output(cli: Cli) -> None:
    """L13: text that was taken back is never written to a pipe; that it was, is."""
    output = cli.chat("be flaky")
    assert "This answer will not" not in output
    assert "was discarded]" in output
    assert "[stream_broken]" in output
    assert "this is the second, and it is whole" in output


def test_a_failed_run_makes_the_exit_code_1(cli: Cli) -> None:
    """L13: the failure and its code are told, and the next line is still answered."""
    done = cli.run("chat", given="fail\nwhat is 6 * 7?\n")
    assert done.returncode == 1
    assert "[failed [demo_failure]: The demo model failed" in done.stdout
    assert "[demo_failure]" in done.stderr
    assert "**42**" in done.stdout


def test_a_tool_that_asks_is_refused_when_nobody_can_be_asked(cli: Cli) -> None:
    """C6: the approval is answered with no, which is said."""
    output = cli.chat("send a postcard to Ada")
    assert "declined: no person available to approve" in output
    assert "failed [not_approved]" in output
    assert "would now be on its way" not in output


def test_an_empty_input_gets_a_hint(cli: Cli) -> None:
    """L15: nothing in, a hint out, no failure."""
    done = cli.run("chat", given="\n \n")
    assert done.returncode == 0
    assert "agio chat" in done.stdout


def test_bytes_that_are_no_text_do_no_harm(cli: Cli) -> None:
    """L13: what is not UTF-8 is replaced."""
    done = cli.run("chat", given=b"\xff\xfe think\x1b[2J about\n")
    assert done.returncode == 0, done.stderr
    assert "I thought about it." in done.stdout


def test_a_reader_that_goes_away_ends_the_program_quietly(cli: Cli) -> None:
    """L13: a closed pipe is no error message."""
    cli.chat("hello")
    for arguments in (["runs", "replay", "last", "--json"], ["runs", "show", "last"], ["chat"]):
        process = subprocess.Popen(
            [*cli.start_arguments, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=cli.environment,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, errors = process.communicate(b"hello\n", timeout=WAIT_S)
        assert errors == b""


def test_an_interrupt_cancels_the_run_of_a_pipe(cli: Cli) -> None:
    """L14: the log of the run ends as cancelled, and the program with it."""
    with HeldModel() as model:
        cli.environment |= model.environment
        with cli.start(*HELD) as process:
            assert process.stdin is not None
            process.stdin.write(b"a story, please\n")
            process.stdin.flush()
            cli.wait_for_events(3)
            process.send_signal(signal.SIGINT)
            assert process.wait(WAIT_S) == 130
    assert cli.stored()[0].status == "cancelled"


def test_a_run_of_a_killed_process_is_finished_by_the_next(cli: Cli) -> None:
    """L14: the thread's unfinished run goes on before the new message is answered."""
    with HeldModel() as model:
        cli.environment |= model.environment
        with cli.start(*HELD, "--thread", "long") as process:
            assert process.stdin is not None
            process.stdin.write(b"a story, please\n")
            process.stdin.flush()
            cli.wait_for_events(3)
            process.kill()
        assert cli.stored()[0].status == "running"
        model.let_go()
        output = cli.chat("thank you", options=[*HELD[1:], "--thread", "long"])
    assert "was left unfinished. Continuing it" in output
    assert output.index(BEGIN) < output.index(END) < output.index("You said: thank you")
    assert [run.status for run in cli.stored()] == ["completed", "completed"]
