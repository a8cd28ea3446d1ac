"""A terminal for a program under test: keys go in, what would be on the screen comes out."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tests.support.command import AGIO, WAIT_S, Cli

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>][A-Z0-9]?|[\x00-\x08\x0e-\x1f]")
_HALF_A_CODE = re.compile(rb"\x1b[^A-Za-z]*$")
# The program must own the terminal, or Ctrl-C would not reach it.
_LAUNCH = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"

_NUDGE_S = 1.0
CTRL_C, CTRL_D, CTRL_U = "\x03", "\x04", "\x15"


class PseudoTerminal:
    """Runs `agio` in a terminal of its own. Every wait is bounded."""

    def __init__(self, cli: Cli, arguments: Sequence[str], size: tuple[int, int] = (80, 24)) -> None:
        self._master, slave = pty.openpty()
        self._width, self._height = size
        self._resize(slave)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, *AGIO, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=cli.environment,
            start_new_session=True,
        )
        os.close(slave)
        self.raw = b""
        self._from = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(WAIT_S)
        os.close(self._master)

    @property
    def text(self) -> str:
        """Everything shown so far, without control codes."""
        whole = _HALF_A_CODE.sub(b"", self.raw).decode(errors="ignore")
        return _CONTROL.sub("", whole).replace("\r", "")

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def enter(self, line: str) -> None:
        """Type a line and press Enter, once the program has asked for it."""
        self.type(f"{line}\r")

    def interrupt(self, wanted: str) -> None:
        """Press Ctrl-C at a prompt and wait for a text.

        The line editor overlooks a signal that comes just before it goes to sleep, until the next one;
        a person is never that fast. A change of the window's size is a signal that does nothing else.
        """
        self.type(CTRL_C)
        end = time.monotonic() + WAIT_S
        while not self._find(wanted):
            assert time.monotonic() < end, f"{wanted!r} did not appear in:\n{self.text[self._from :]}"
            if not self._read(_NUDGE_S):
                self._height += 1
                self._resize(self._master)

    def expect(self, wanted: str) -> None:
        """Wait until a text appears after the last one expected."""
        end = time.monotonic() + WAIT_S
        while not self._find(wanted):
            more = self._read(max(0.0, end - time.monotonic()))
            assert more, f"{wanted!r} did not appear in:\n{self.text[self._from :]}"

    def _find(self, wanted: str) -> bool:
        at = self.text.find(wanted, self._from)
        if at >= 0:
            self._from = at + len(wanted)
        return at >= 0

    def _resize(self, fd: int) -> None:
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", self._height, self._width, 0, 0))

    def wait(self) -> int:
        """Wait until the program has ended and return its exit code."""
        end = time.monotonic() + WAIT_S
        while self._read(max(0.0, end - time.monotonic())):
            pass
        return self._process.wait(WAIT_S)

    def _read(self, timeout_s: float) -> bool:
        """Take in what is shown next; False once there is nothing more to come."""
        ready, _, _ = select.select([self._master], [], [], timeout_s)
        if not ready:
            return False
        try:
            piece = os.read(self._master, 65_536)
        except OSError:  # how Linux says that the other end was closed
            return False
        self.raw += piece
        return bool(piece)
