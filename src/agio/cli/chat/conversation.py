"""A conversation at the terminal or through a pipe, over runs of any source."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from agio.cli.chat.approval import NO_PERSON, ask, refuse
from agio.cli.chat.session import Session, Source
from agio.cli.terminal.output import error_line, make_console, make_stage
from agio.cli.terminal.prompt import Prompt
from agio.cli.terminal.render import EventRenderer
from agio.cli.terminal.tables import runs_table
from agio.errors import AgioError, StoreError
from agio.protocol.events import Interrupt
from agio.protocol.messages import ResumeEntry

_HELP = """\
  /new        start a new conversation
  /reasoning  show the model's reasoning in full, or fold it again
  /runs       list the runs of this conversation
  /help       show this
  /quit       leave (or Ctrl-D)

Ctrl-C stops an answer and keeps the part already shown."""


class ChatTexts(Struct, frozen=True):
    """The texts of a conversation. In the hints `{thread}` stands for its thread."""

    title: str
    noun: str
    """What a thread is called here: `thread` or `session`."""
    named: bool
    """Whether the thread was named on the command line."""
    history: Path
    """The file of the input history."""
    hint: str
    """What to try when there was no input."""
    go_on: str
    see: str
    plain: bool = False


def converse(source: Source, loop: asyncio.Runner, texts: ChatTexts) -> int:
    """Chat until the input ends; return the exit code. Raises AgioError if it cannot start."""
    try:
        if sys.stdin.isatty():
            return _Conversation(source, loop, texts).hold()
        return _answer_pipe(source, loop, texts)
    finally:
        loop.run(source.aclose())


def _answer_pipe(source: Source, loop: asyncio.Runner, texts: ChatTexts) -> int:
    """Answer each line of standard input; 1 if a run failed."""
    stage = make_stage(make_console(), plain=True)

    def decide(interrupts: Sequence[Interrupt]) -> list[ResumeEntry]:
        stage.remark("notice", f"declined: {NO_PERSON}, because the input is not a terminal")
        stage.settle()
        return refuse(interrupts)

    renderer = EventRenderer(stage)
    session = Session(source, renderer, loop, decide)
    failed = asked = False
    if texts.named:
        failed = session.take_up() == "failed"
        if not session.spoken:
            print(f"{texts.noun.capitalize()} {session.session_id} is new.", file=sys.stderr)
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
        print(f"No input. Try: {texts.hint}")
    return 1 if failed else 0


class _Conversation:
    """A conversation with a person at the terminal."""

    def __init__(self, source: Source, loop: asyncio.Runner, texts: ChatTexts) -> None:
        self._texts = texts
        self._console = make_console(plain=texts.plain)
        self._stage = make_stage(self._console, plain=texts.plain)
        self._prompt = Prompt(texts.history, colour=self._console.is_terminal and not self._console.no_color)
        self._session = Session(source, EventRenderer(self._stage), loop, self._decide)

    def hold(self) -> int:
        """Read, answer, repeat."""
        session, noun = self._session, self._texts.noun
        before = session.runs() if self._texts.named else []
        count = f"{len(before)} {'run' if len(before) == 1 else 'runs'}"
        known = f"{count} so far" if before else "new"
        place = f"{noun} {session.session_id} ({known})" if session.session_id else f"new {noun}"
        self._say(f"agio · {self._texts.title} · {place}", "bold")
        self._say("Type a message, or /help. Ctrl-C stops an answer, Ctrl-D leaves.\n", "dim")
        if self._texts.named:
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
        """Run something and print its error, without ending the conversation."""
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
            self._say("\nNot answered. Your next message continues without this call.", "dim")
        return entries

    def _command(self, text: str) -> None:
        match text.split()[0]:
            case "/help":
                self._say(_HELP, "")
            case "/new":
                self._session.new_thread()
                named = (
                    f": {self._texts.noun} {self._session.session_id}" if self._session.session_id else "."
                )
                self._say(f"New conversation{named}", "dim")
            case "/reasoning":
                self._stage.show_reasoning = not self._stage.show_reasoning
                self._say(f"Reasoning is {'shown' if self._stage.show_reasoning else 'folded'}.", "dim")
            case "/runs":
                self._try(self._list)
            case other:
                self._say(f"There is no command {other}. See /help.", "yellow")

    def _list(self) -> None:
        runs = self._session.runs()
        if runs:
            self._console.print(runs_table(runs, self._console))
        else:
            self._say("This conversation has no runs yet.", "dim")

    def _farewell(self) -> None:
        if not self._session.spoken:
            self._say("Bye.", "")
            return
        thread = self._session.session_id
        self._say(f"Bye. This was {self._texts.noun} {thread}.", "")
        self._say(f"  continue:  {self._texts.go_on.format(thread=thread)}", "dim")
        self._say(f"  list runs: {self._texts.see.format(thread=thread)}", "dim")

    def _say(self, text: str, style: str) -> None:
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
