"""Where a person types: a line editor with history if there is one, and a terminal that keeps quiet meanwhile."""

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_HISTORY_LINES = 1000


class Prompt:
    """Asks for lines on the terminal. Messages go into the history, answers to questions do not."""

    def __init__(self, history: Path, *, colour: bool) -> None:
        self._history = history
        self._colour = colour
        try:
            import readline
        except ImportError:
            self._editor = None
        else:
            self._editor = readline
            readline.set_auto_history(False)
            readline.set_history_length(_HISTORY_LINES)
            with suppress(OSError):
                readline.read_history_file(history)

    def message(self) -> str:
        """Ask for the next message. Raises EOFError at Ctrl-D, and at Ctrl-C unless something was typed."""
        while True:
            try:
                text = input(self._styled("> ", "1;36")).strip()
            except KeyboardInterrupt:
                typed = self._editor is not None and self._editor.get_line_buffer().strip() != ""
                print()
                if typed:
                    continue
                raise EOFError from None
            except EOFError:
                print()
                raise
            if text:
                if self._editor is not None:
                    self._editor.add_history(text)
                return _mended(text)

    def question(self, text: str, draft: str = "") -> str:
        """Ask a question; `draft` is the answer to begin with. Raises EOFError at Ctrl-C and Ctrl-D."""
        if self._editor is not None and draft:
            editor = self._editor
            editor.set_startup_hook(lambda: editor.insert_text(draft))
        try:
            return _mended(input(self._styled(text, "33")).strip())
        except KeyboardInterrupt:
            raise EOFError from None
        finally:
            if self._editor is not None:
                self._editor.set_startup_hook()

    def save(self) -> None:
        """Keep the history for the next time."""
        if self._editor is None:
            return
        with suppress(OSError):
            self._history.touch(mode=0o600)
            self._editor.write_history_file(self._history)

    def _styled(self, text: str, style: str) -> str:
        if not self._colour:
            return text
        begin, end = f"\x1b[{style}m", "\x1b[0m"
        # The line editor must know which characters take no room.
        return f"\001{begin}\002{text}\001{end}\002" if self._editor is not None else f"{begin}{text}{end}"


@contextmanager
def quiet_keys() -> Generator[None]:
    """Keep typed characters from the screen; they wait for the next prompt. Ctrl-C still works."""
    if not sys.stdin.isatty():
        yield
        return
    import termios

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    quiet = list(before)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _mended(text: str) -> str:
    """Replace bytes that were no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
