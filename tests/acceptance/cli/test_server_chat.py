"""`agio chat --server` and `agio runs --server`: the same conversation, with the runs elsewhere."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.cli.pseudo_terminal import CTRL_C, CTRL_D, CTRL_U, PseudoTerminal
from tests.acceptance.held_model import APP, BEGIN, END, HeldModel
from tests.support.command import WAIT_S, Cli
from tests.support.process import KEY, Server, answer_of, await_events, send, start_session

PROMPT = "> "
QUESTION = "[e]dit the arguments: "
HELD = ("--agent", "held")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "server") as server:
        yield server


@pytest.fixture
def model() -> Iterator[HeldModel]:
    with HeldModel() as model:
        yield model


@pytest.fixture
def telling(tmp_path: Path, model: HeldModel, cli: Cli) -> Iterator[Server]:
    """A server whose agent `held` stops in the middle of a story."""
    (tmp_path / "held.py").write_text(APP)
    cli.environment["AGIO_API_KEY"] = KEY
    app = ("--app", str(tmp_path / "held.py"))
    with Server(tmp_path / "server", *app, environment=model.environment) as server:
        yield server


@pytest.fixture
def asking(server: Server, cli: Cli) -> list[str]:
    """The options that lead to the server; the key is in the environment."""
    cli.environment["AGIO_API_KEY"] = KEY
    return ["--server", server.url]


def test_a_piped_question_is_answered_by_the_server(cli: Cli, asking: list[str]) -> None:
    """R1, L15: the same text as without a server, and nothing is stored here."""
    output = cli.chat("what is 12 * (3 + 4)?", "send a postcard to Ada", "be flaky", options=asking)
    assert "The tool says: **84**" in output
    assert '[tool calculator {"expression":"12 * (3 + 4)"} -> 84 (' in output
    assert "declined: no person available to approve" in output
    assert "failed [not_approved]" in output
    assert "This answer will not" not in output
    assert "this is the second, and it is whole" in output
    assert not cli.store.exists()


def test_a_failed_run_of_the_server_makes_the_exit_code_1(cli: Cli, asking: list[str]) -> None:
    """L13: the failure and its code are told, and the next line is still answered."""
    done = cli.run("chat", *asking, given="fail\nwhat is 6 * 7?\n")
    assert done.returncode == 1
    assert "[demo_failure]" in done.stderr
    assert "**42**" in done.stdout


def test_runs_of_a_server_are_listed_shown_and_replayed(cli: Cli, asking: list[str], server: Server) -> None:
    """L9, L10: as those of a file are, and a replay is the log, byte for byte."""
    cli.chat("what is 6 * 7?", "think about it", options=asking)
    newer, older = cli.runs(*asking)
    assert [newer["title"], older["title"]] == ["think about it", "what is 6 * 7?"]
    assert newer["session_id"] == older["session_id"]
    assert len(cli.runs(*asking, "--limit", "1")) == 1
    assert len(cli.runs(*asking, "--agent", "demo", "--thread", str(newer["session_id"]))) == 2
    assert "No run matches" in cli.run("runs", "list", *asking, "--agent", "nobody").stdout
    page = cli.run("runs", "show", str(older["run_id"])[-8:], *asking).stdout
    for part in (f"{older['run_id']}  completed", "> what is 6 * 7?", "✓ calculator", "→ 42", "FIRST TOKEN"):
        assert part in page, part
    with server.client() as client:
        log = client.get(f"/api/runs/{newer['run_id']}/events").content
    assert cli.run("runs", "replay", "last", "--json", *asking).stdout.encode() == log
    assert cli.run("runs", "replay", "last", "--fast", *asking).stdout.startswith("> think about it\n")
    assert "[run_not_found]" in cli.run("runs", "show", "run_nonsense", *asking).stderr


def test_an_interrupt_cancels_the_run_on_the_server(cli: Cli, telling: Server) -> None:
    """L14: Ctrl-C in a pipe ends the run there, and the program here."""
    asking = ["--server", telling.url]
    with cli.start("chat", *asking, *HELD) as process, telling.client() as client:
        assert process.stdin is not None
        process.stdin.write(b"a story, please\n")
        process.stdin.flush()
        await_events(client, 3)
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 130
    assert cli.runs(*asking)[0]["status"] == "cancelled"


def test_a_person_stops_an_answer_of_the_server(cli: Cli, telling: Server) -> None:
    """R1, L14: it streams, Ctrl-C ends the run there, and the prompt comes back."""
    asking = ["--server", telling.url]
    with PseudoTerminal(cli, ["chat", *asking, *HELD], size=(100, 30)) as terminal:
        terminal.expect("held at http://127.0.0.1:")
        terminal.expect(PROMPT)
        terminal.enter("a story, please")
        terminal.expect(BEGIN)
        terminal.type(CTRL_C)
        terminal.expect("cancelled · 1 step")
        assert END not in terminal.text
        terminal.expect(PROMPT)
        terminal.enter("/runs")
        terminal.expect("cancelled")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    assert [run["status"] for run in cli.runs(*asking)] == ["cancelled"]


def test_a_person_talks_to_an_agent_of_the_server(cli: Cli, asking: list[str]) -> None:
    """R1, C6: streaming, and a question answered, as without a server."""
    with PseudoTerminal(cli, ["chat", *asking], size=(100, 30)) as terminal:
        terminal.expect("demo at http://127.0.0.1:")
        terminal.expect("new session")
        terminal.expect(PROMPT)
        terminal.enter("send a postcard to Ada")
        terminal.expect("? send_postcard  needs your approval")
        terminal.expect(QUESTION)
        terminal.enter("y")
        terminal.expect("A postcard to Ada would now be on its way")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        terminal.expect("Bye. This was session ses_")
        terminal.expect("--session ses_")
        assert terminal.wait() == 0
    assert [run["status"] for run in cli.runs(*asking)] == ["completed", "interrupted"]


def test_a_question_left_open_is_asked_again_in_the_session(cli: Cli, asking: list[str]) -> None:
    """B7: it waits on the server, whoever answers; arguments that do not fit leave it open."""
    with PseudoTerminal(cli, ["chat", *asking], size=(100, 30)) as terminal:
        terminal.expect(PROMPT)
        terminal.enter("send a postcard to Ada")
        terminal.expect(QUESTION)
        terminal.type(CTRL_D)
        terminal.expect("Not answered.")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    session = str(cli.runs(*asking)[0]["session_id"])
    with PseudoTerminal(cli, ["chat", *asking, "--session", session], size=(100, 30)) as terminal:
        terminal.expect(f"session {session} (1 run so far)")
        terminal.expect("? send_postcard")
        terminal.expect('{"to": "Ada", "text": "Greetings to Ada from an agent!"}')
        terminal.expect(QUESTION)
        terminal.enter("e")
        terminal.expect("(empty: back): ")
        terminal.enter(f'{CTRL_U}{{"to": 7}}')
        terminal.expect('send_postcard is missing the required field "text"')
        terminal.expect(QUESTION)
        terminal.enter("n")
        terminal.expect("Reason (optional; the agent sees it): ")
        terminal.enter("she is here")
        terminal.expect("The tool says: Not approved: she is here")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0


def test_a_run_that_is_under_way_is_shown_from_its_beginning(
    cli: Cli, telling: Server, model: HeldModel
) -> None:
    """C7: whoever comes late to a session sees the whole run."""
    with telling.client() as client:
        session = start_session(client, "held")
        send(client, session, "a story, please")
        await_events(client, 3)
        with cli.start("chat", "--server", telling.url, "--session", session) as chat:
            assert chat.stdin is not None
            assert chat.stdout is not None
            chat.stdin.write(b"thank you\n")
            chat.stdin.close()
            output = b""
            while b"is still running. Showing it from the start" not in output:
                line = chat.stdout.readline()
                assert line, output
                output += line
            model.let_go()
            shown = (output + chat.stdout.read()).decode()
            assert chat.wait(WAIT_S) == 0
        assert shown.index(BEGIN) < shown.index(END) < shown.index("You said: thank you")
        assert answer_of(client.get(f"/api/agent-sessions/{session}/status"))["state"] == "idle"


def test_a_server_that_begins_again_costs_a_notice_and_no_text(
    cli: Cli, telling: Server, model: HeldModel
) -> None:
    """B1, C7: the chat waits for the server and goes on after the last event it has."""
    port = telling.url.rpartition(":")[2]
    with telling.client() as client:
        chat = cli.start("chat", "--server", telling.url, *HELD)
        assert chat.stdin is not None
        chat.stdin.write(b"a story, please\n")
        chat.stdin.close()
        await_events(client, 3)
        telling.process.kill()
        telling.wait()
    model.let_go()
    again = Server(telling.data.parent, *telling.arguments, "--port", port, environment=model.environment)
    with again, chat:
        assert chat.stdout is not None
        output = chat.stdout.read().decode()
        assert chat.wait(WAIT_S) == 0
    assert "Connection lost. Reconnecting." in output
    assert "Reconnected. Continuing after event" in output
    assert output.count(BEGIN) == 1
    assert output.count(END) == 1


def test_an_agent_that_is_not_there_is_said_to(cli: Cli, asking: list[str], server: Server) -> None:
    """L13: the names there are are told; with several the choice is the person's."""
    wrong = cli.run("chat", *asking, "--agent", "nobody", given="hello\n")
    assert "The server has: demo." in wrong.stderr
    second = {"name": "second", "system_prompt": "Help.", "model_provider": "demo", "model_name": "demo"}
    with server.client() as client:
        assert client.post("/api/agents", json=second).status_code == 201
    undecided = cli.run("chat", *asking, given="hello\n")
    assert undecided.returncode == 1
    assert "--agent NAME. The server has: demo, second." in undecided.stderr
    assert "I am the **demo model**" in cli.chat("hello", options=[*asking, "--agent", "second"])


def test_a_key_is_asked_for_at_a_terminal_and_never_an_argument(cli: Cli, server: Server) -> None:
    """S14, L15: the process list shows arguments, so no command takes a key there; what is typed is not shown."""
    for command in (["chat"], ["runs", "list"], ["runs", "show", "last"], ["runs", "replay", "last"]):
        assert cli.run(*command, "--server", server.url, "--api-key", KEY).returncode == 2
    for command in (["create", "x"], ["list"], ["revoke", "key_1"]):
        assert cli.run("keys", *command, "--server", server.url, "--api-key", KEY).returncode == 2
    with PseudoTerminal(cli, ["keys", "list", "--server", server.url]) as terminal:
        terminal.expect(f"API key for {server.url}: ")
        terminal.enter(KEY)
        terminal.expect("KEY_ID")
        assert KEY not in terminal.text
