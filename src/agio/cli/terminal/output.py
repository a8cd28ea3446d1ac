"""Where output goes: the console, the stage that fits it, and the one line of an error."""

import sys

from rich.console import Console
from rich.text import Text

from agio.cli.terminal.plain import PlainStage
from agio.cli.terminal.render import Stage
from agio.cli.terminal.stage import TerminalStage
from agio.cli.terminal.view import visible
from agio.errors import AgioError

_PIPE_WIDTH = 240


def make_console(*, plain: bool = False, stderr: bool = False) -> Console:
    """Return the console of standard output or error, without colours if `plain`; a pipe gets lines of any length."""
    console = Console(highlight=False, stderr=stderr, force_terminal=False if plain else None)
    stream = sys.stderr if stderr else sys.stdout
    return console if stream.isatty() else Console(highlight=False, stderr=stderr, width=_PIPE_WIDTH)


def make_stage(console: Console, *, plain: bool) -> Stage:
    """Return the stage for a console: the terminal's, or plain text if asked for or if it can do no more."""
    if plain or not sys.stdout.isatty() or not console.is_terminal or console.is_dumb_terminal:
        return PlainStage(sys.stdout, live=sys.stdout.isatty())
    return TerminalStage(console)


def error_line(error: AgioError) -> None:
    """Print an error on standard error, in one line with its code."""
    text = visible(" ".join(error.message.split()))
    console = Console(stderr=True, highlight=False)
    console.print(Text.assemble(("error: ", "bold red"), (f"{text} [{error.code}]", "red")), soft_wrap=True)
