"""A person at a terminal: answers stream, Ctrl-C stops only the answer, questions are asked."""

import re

from tests.acceptance.cli.pseudo_terminal import CTRL_C, CTRL_D, CTRL_U, PseudoTerminal
from tests.acceptance.held_model import BEGIN, END, HeldModel
from tests.support.command import Cli

PROMPT = "> "
QUESTION = "[e]dit the arguments: "


def test_an_answer_streams_with_its_tool_card_and_a_footer(cli: Cli) -> None:
    """C6: the thought, the tool with its arguments and result, the answer and its figures are shown."""
    with PseudoTerminal(cli, ["chat"]) as terminal:
        terminal.expect("demo:demo · thread thr_")
        terminal.expect("/help")
        terminal.expect(PROMPT)
        terminal.enter("what is 12 * (3 + 4)?")
        terminal.expect("thought for")
        terminal.expect("✓ calculator")
        terminal.expect('{"expression": "12 * (3 + 4)"}')
        terminal.expect("→ 84")
        terminal.expect("The tool says: 84")
        terminal.expect("2 steps · ")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    assert "Traceback" not in terminal.text


def test_ctrl_c_stops_the_answer_and_not_the_program(cli: Cli) -> None:
    """L14: the run ends as cancelled, its partial text stays, and the prompt comes back."""
    with HeldModel() as model:
        cli.environment |= model.environment
        with PseudoTerminal(cli, ["chat", "--model", "openai-chat:test-model"]) as terminal:
            terminal.expect(PROMPT)
            terminal.enter("a story, please")
            terminal.expect(BEGIN)
            terminal.type(CTRL_C)
            terminal.expect("cancelled · 1 step")
            assert END not in terminal.text
            terminal.expect(PROMPT)
            terminal.enter("thank you")
            terminal.expect("You said: thank you")
            terminal.expect("1 step · ")
            terminal.expect(PROMPT)
            terminal.type(CTRL_D)
            assert terminal.wait() == 0
    assert [run.status for run in cli.stored()] == ["completed", "cancelled"]
    assert BEGIN in cli.run("runs", "show", cli.stored()[1].run_id).stdout


def test_the_farewell_says_how_to_go_on(cli: Cli) -> None:
    """L15: Ctrl-C at the empty prompt ends the program with the thread's id and the commands to use it."""
    with PseudoTerminal(cli, ["chat"]) as terminal:
        terminal.expect(PROMPT)
        terminal.enter("think about it")
        terminal.expect("total ")
        terminal.expect(PROMPT)
        terminal.type("half a mess")
        terminal.expect("half a mess")
        terminal.interrupt(PROMPT)
        thread = cli.stored()[0].session_id
        terminal.interrupt(f"Bye. This was thread {thread}.")
        terminal.expect(f"agio chat --thread {thread}")
        terminal.expect("agio runs list")
        assert terminal.wait() == 0


def test_a_tool_that_asks_runs_after_yes(cli: Cli) -> None:
    """C6: the exact arguments are shown, and the run goes on in the same thread."""
    with PseudoTerminal(cli, ["chat"]) as terminal:
        terminal.expect(PROMPT)
        terminal.enter("send a postcard to Ada")
        terminal.expect("? send_postcard  needs your approval")
        terminal.expect('{"to": "Ada", "text": "Greetings to Ada from an agent!"}')
        terminal.expect(QUESTION)
        terminal.enter("y")
        terminal.expect("✓ send_postcard")
        terminal.expect("The tool says: A postcard to Ada would now be on its way")
        terminal.expect(PROMPT)
        terminal.enter("/quit")
        assert terminal.wait() == 0
    runs = cli.stored()
    assert [run.status for run in runs] == ["completed", "interrupted"]
    assert runs[0].session_id == runs[1].session_id


def test_a_tool_that_asks_does_not_run_after_no(cli: Cli) -> None:
    """C6: the model is told the reason."""
    with PseudoTerminal(cli, ["chat"]) as terminal:
        terminal.expect(PROMPT)
        terminal.enter("send a postcard to Ada")
        terminal.expect(QUESTION)
        terminal.enter("perhaps")
        terminal.expect("Please answer y, n or e.")
        terminal.expect(QUESTION)
        terminal.enter("n")
        terminal.expect("Reason (optional; the agent sees it): ")
        terminal.enter("she is here")
        terminal.expect("send_postcard  not approved")
        terminal.expect("The tool says: Not approved: she is here")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_the_arguments_of_a_tool_that_asks_can_be_edited(cli: Cli) -> None:
    """C6: what is no JSON object, or does not fit, is asked again; the tool runs with the person's arguments."""
    with PseudoTerminal(cli, ["chat"]) as terminal:
        terminal.expect(PROMPT)
        terminal.enter("send a postcard to Ada")
        terminal.expect(QUESTION)
        terminal.enter("e")
        terminal.expect("(empty: back): ")
        terminal.expect('{"to":"Ada"')
        terminal.enter(f'{CTRL_U}{{"to": ')
        terminal.expect("This is not JSON")
        terminal.expect("(empty: back): ")
        terminal.enter(f'{CTRL_U}{{"to": 7}}')
        terminal.expect('is missing the required field "text"')
        terminal.expect(QUESTION)
        terminal.enter("e")
        terminal.expect("(empty: back): ")
        terminal.enter(f'{CTRL_U}{{"to": "Bob", "text": "Hi"}}')
        terminal.expect("✓ send_postcard")
        terminal.expect('{"to": "Bob", "text": "Hi"}')
        terminal.expect('A postcard to Bob would now be on its way: "Hi"')
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_a_question_left_open_is_asked_again_when_the_thread_goes_on(cli: Cli) -> None:
    """C6: Ctrl-D at a question leaves it open; `--thread` asks it again."""
    with PseudoTerminal(cli, ["chat", "--thread", "cards"]) as terminal:
        terminal.expect(PROMPT)
        terminal.enter("send a postcard to Ada")
        terminal.expect(QUESTION)
        terminal.type(CTRL_D)
        terminal.expect("Not answered.")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    with PseudoTerminal(cli, ["chat", "--thread", "cards"]) as terminal:
        terminal.expect("thread cards (1 run so far)")
        terminal.expect("? send_postcard")
        terminal.expect(QUESTION)
        terminal.enter("y")
        terminal.expect("A postcard to Ada would now be on its way")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_what_went_wrong_is_shown_with_its_code(cli: Cli) -> None:
    """L13: retries, what was taken back, and failures are lines and panels, and the prompt comes back."""
    with PseudoTerminal(cli, ["chat"]) as terminal:
        terminal.expect(PROMPT)
        terminal.enter("be flaky")
        terminal.expect("the partial answer was discarded")
        terminal.expect("Retrying in")
        terminal.expect("this is the second, and it is")
        terminal.expect("total ")
        terminal.expect(PROMPT)
        terminal.enter("fail")
        terminal.expect("failed: demo_failure")
        terminal.expect("The demo model failed because it was asked to.")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_commands_of_the_chat(cli: Cli) -> None:
    """L15: /help, /runs, /reasoning and /new do what they say."""
    with PseudoTerminal(cli, ["chat"], size=(120, 40)) as terminal:
        terminal.expect(PROMPT)
        for line, answer in (
            ("/help", "start a new conversation"),
            ("/runs", "has no runs yet"),
            ("/nonsense", "There is no command /nonsense"),
            ("/reasoning", "Reasoning is shown."),
            ("think about it", "First I look at it from one side"),
            ("/runs", "completed"),
            ("/new", "New conversation: thread thr_"),
            ("/runs", "has no runs yet"),
        ):
            terminal.enter(line)
            terminal.expect(answer)
            terminal.expect(PROMPT)
        terminal.enter("/quit")
        terminal.expect("Bye.")
        assert terminal.wait() == 0


def test_plain_chat_has_no_colours_and_moves_nothing(cli: Cli) -> None:
    """L15: `--plain` on a terminal streams text and brackets only."""
    with PseudoTerminal(cli, ["chat", "--plain"]) as terminal:
        terminal.expect(PROMPT)
        terminal.enter("what is 6 * 7?")
        terminal.expect('[tool calculator {"expression":"6 * 7"} -> 42')
        terminal.expect("The tool says: **42**")
        terminal.expect("[2 steps")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    assert not re.search(rb"\x1b\[[0-9;]*[mAKJ]", terminal.raw)


def test_a_replay_in_a_terminal_looks_like_the_chat(cli: Cli) -> None:
    """L10: the same renderer shows the stored events, the user's message first."""
    cli.chat("what is 6 * 7?")
    with PseudoTerminal(cli, ["runs", "replay", "last"]) as terminal:
        terminal.expect("pauses limited to 5 s")
        terminal.expect("> what is 6 * 7?")
        terminal.expect("✓ calculator")
        terminal.expect("The tool says: 42")
        terminal.expect("2 steps · ")
        assert terminal.wait() == 0
