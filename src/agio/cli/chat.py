"""`agio chat`: talk to an agent in the terminal, or send it lines through a pipe."""

import asyncio
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from agio.agents import demo
from agio.cli.approval import NOBODY, ask, refuse
from agio.cli.output import error_line, make_console, make_stage
from agio.cli.prompt import Prompt
from agio.cli.render import EventRenderer
from agio.cli.session import Session
from agio.cli.tables import runs_table
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver, split_model
from agio.errors import AgioError, StoreError
from agio.library import Agent
from agio.protocol.events import Interrupt
from agio.protocol.messages import ResumeEntry
from agio.settings import Settings
from agio.tools.calculator import calculator
from agio.tools.clock import clock

_HELP = """\
  /new        begin a new conversation
  /reasoning  show the model's reasoning in full, or fold it again
  /runs       list the runs of this conversation
  /help       show this
  /quit       leave (or Ctrl-D)

  Ctrl-C stops an answer; what was said of it stays."""


class ChatOptions(Struct, frozen=True):
    """What was asked on the command line."""

    model: str
    store: Path
    thread: str | None
    instructions: str | None
    base_url: str | None
    plain: bool
    own_store: bool
    """Whether the store was named, and must be named again to go on."""


def chat(options: ChatOptions, settings: Settings) -> int:
    """Converse until there is no more input; return the exit code. Raises AgioError for what cannot begin."""
    agent = _agent(options)
    with asyncio.Runner() as loop:
        try:
            loop.run(_check_endpoint(options, settings))
            if sys.stdin.isatty():
                return _Conversation(agent, loop, options, settings).hold()
            return _answer_pipe(agent, loop, options)
        finally:
            loop.run(agent.aclose())


def _agent(options: ChatOptions) -> Agent:
    is_demo = options.model == demo.MODEL
    return Agent(
        demo.NAME if is_demo else "chat",
        options.instructions or (demo.INSTRUCTIONS if is_demo else "You are a helpful assistant."),
        model=options.model,
        tools=demo.TOOLS if is_demo else [calculator, clock],
        store=options.store,
        base_url=options.base_url,
    )


async def _check_endpoint(options: ChatOptions, settings: Settings) -> None:
    """Find out before the first message whether the model can be called at all. Raises UserError."""
    provider, _ = split_model(options.model)
    endpoint = Endpoint(options.base_url) if options.base_url else settings.endpoint(provider)
    await open_driver(provider, endpoint).aclose()


def _answer_pipe(agent: Agent, loop: asyncio.Runner, options: ChatOptions) -> int:
    """Answer each line of standard input; 1 if a run failed."""
    stage = make_stage(make_console(), plain=True)

    def decide(interrupts: Sequence[Interrupt]) -> list[ResumeEntry]:
        stage.remark("notice", f"answered no: {NOBODY}, because the input is no terminal")
        stage.settle()
        return refuse(interrupts)

    renderer = EventRenderer(stage)
    session = Session(agent, renderer, loop, options.thread, decide)
    failed = asked = False
    if options.thread is not None:
        failed = session.take_up() == "failed"
        if not session.spoken:
            print(f"Thread {session.thread_id} is new.", file=sys.stderr)
    for raw in sys.stdin.buffer:
        message = raw.decode("utf-8", "replace").strip()
        if not message:
            continue
        asked = True
        status = session.say(message)
        failed = failed or status == "failed"
        if status == "failed" and not sys.stdout.isatty() and renderer.ending is not None:
            error_line(AgioError(renderer.ending.code, renderer.ending.message))
        if status == "cancelled":
            return 130
    if not asked:
        print('There was nothing to answer. Try: echo "what is 6 * 7?" | agio chat')
    return 1 if failed else 0


class _Conversation:
    """A conversation with a person at the terminal."""

    def __init__(self, agent: Agent, loop: asyncio.Runner, options: ChatOptions, settings: Settings) -> None:
        self._options = options
        self._console = make_console(plain=options.plain)
        self._stage = make_stage(self._console, plain=options.plain)
        self._prompt = Prompt(
            settings.data_dir / "chat_history",
            colour=self._console.is_terminal and not self._console.no_color,
        )
        self._session = Session(agent, EventRenderer(self._stage), loop, options.thread, self._decide)

    def hold(self) -> int:
        """Read, answer, repeat."""
        session = self._session
        before = session.runs() if self._options.thread else []
        count = f"{len(before)} {'run' if len(before) == 1 else 'runs'}"
        known = f"{count} so far" if before else "new"
        self._say(f"agio · {self._options.model} · thread {session.thread_id} ({known})", "bold")
        self._say("Type a message, or /help. Ctrl-C stops an answer, Ctrl-D leaves.\n", "dim")
        self._try(session.take_up)
        while True:
            try:
                text = self._prompt.message()
            except EOFError:
                break
            if text in ("/quit", "/exit"):
                break
            if text.startswith("/"):
                self._command(text)
            else:
                self._try(lambda text=text: session.say(text))
        self._prompt.save()
        self._farewell()
        return 0

    def _try(self, work: Callable[[], object]) -> None:
        """Do something that may fail without ending the conversation."""
        try:
            work()
        except StoreError:
            raise
        except AgioError as error:
            error_line(error)

    def _decide(self, interrupts: Sequence[Interrupt]) -> list[ResumeEntry] | None:
        cards = self._session.renderer.cards
        entries = ask(interrupts, cards, self._prompt, lambda text: self._say(text, "yellow"))
        if entries is None:
            self._say("\nNot answered. Your next message goes on without it.", "dim")
        return entries

    def _command(self, text: str) -> None:
        match text.split()[0]:
            case "/help":
                self._say(_HELP, "")
            case "/new":
                self._session.new_thread()
                self._say(f"A new conversation: thread {self._session.thread_id}", "dim")
            case "/reasoning":
                self._stage.show_reasoning = not self._stage.show_reasoning
                self._say(f"Reasoning is {'shown' if self._stage.show_reasoning else 'folded'}.", "dim")
            case "/runs":
                runs = self._session.runs()
                if runs:
                    self._console.print(runs_table(runs, self._console))
                else:
                    self._say("This conversation has no runs yet.", "dim")
            case other:
                self._say(f"There is no command {other}. See /help.", "yellow")

    def _farewell(self) -> None:
        store = f" --store {shlex.quote(str(self._options.store))}" if self._options.own_store else ""
        if not self._session.spoken:
            self._say("Bye.", "")
            return
        thread = self._session.thread_id
        self._say(f"Bye. This was thread {thread}.", "")
        self._say(f"  go on:  agio chat --thread {thread}{store}", "dim")
        self._say(f"  see it: agio runs list{store}", "dim")

    def _say(self, text: str, style: str) -> None:
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
