"""The stage of a pipe or a simple terminal: text as it is, everything else on lines in brackets."""

from typing import TextIO

from agio.cli.terminal.view import Card, Ending, Level, Thought


class PlainStage:
    """Writes text without control codes. When not `live`, an answer is written once it is final."""

    def __init__(self, out: TextIO, *, live: bool) -> None:
        self.show_reasoning = False
        self._out = out
        self._live = live
        self._held: list[str] = []
        self._remarks: list[str] = []
        """The held lines that stay when the answer is discarded."""
        self._thought: Thought | None = None
        self._at_start = True
        self._settled_at_start = True
        self._answers = 0

    def begin(self) -> None:
        """A run begins."""
        if self._answers:
            self._out.write("\n")
        self._answers += 1

    def user(self, text: str) -> None:
        """Show a user message."""
        self._line(f"> {text}")

    def think(self, thought: Thought) -> None:
        """Remember a thought; it is shown when it has ended."""
        self._thought = thought

    def write(self, text: str) -> None:
        """Show more of the answer."""
        self._end_thought()
        self._put(text)

    def call(self, card: Card) -> None:
        """Show a tool call when it has ended or waits."""
        self._end_thought()
        match card.state:
            case "running":
                return
            case "waiting":
                self._line(f"[tool {card.name} {card.shown_arguments} waits for approval]")
            case _:
                failed = f"failed [{card.error}]: " if card.error else ""
                took = f" ({card.duration})" if card.duration else ""
                result = " ".join(card.result.split())
                self._line(f"[tool {card.name} {card.shown_arguments} -> {failed}{result}{took}]")
        self.settle()

    def remark(self, level: Level, text: str) -> None:
        """Show a line beside the answer."""
        self._remarks.append(f"[{level}: {text}]")
        self._line(self._remarks[-1])

    def settle(self) -> None:
        """Write what was held back."""
        self._end_thought()
        if self._held:
            self._out.write("".join(self._held))
            self._held = []
        self._remarks = []
        self._settled_at_start = self._at_start
        self._out.flush()

    def discard(self) -> None:
        """Discard the held text; mark what was already written."""
        self._thought = None
        if self._live:
            self._line("[warning: the stream dropped; ignore the partial answer above]")
        else:
            self._held, self._at_start = [], self._settled_at_start
            for remark in self._remarks:
                self._line(remark)
            self._line("[warning: the stream dropped; the partial answer was discarded]")

    def end(self, ending: Ending) -> None:
        """Show how the run ended."""
        self.settle()
        if ending.status == "failed":
            self._line(f"[failed [{ending.code}]: {ending.message}]")
        status = "" if ending.status in ("completed", "failed") else f"{ending.status}: "
        if ending.footer:
            self._line(f"[{status}{ending.footer}]")
        self.settle()

    def tick(self) -> None:
        """Nothing to redraw."""

    def close(self) -> None:
        """Write what is left."""
        self.settle()

    def _end_thought(self) -> None:
        thought, self._thought = self._thought, None
        if thought is not None:
            self._line(f"[thought for {thought.summary}]")
            if self.show_reasoning:
                self._line(thought.text.strip())

    def _line(self, text: str) -> None:
        self._put(f"{'' if self._at_start else chr(10)}{text}\n")

    def _put(self, text: str) -> None:
        if not text:
            return
        self._at_start = text.endswith("\n")
        if self._live:
            self._out.write(text)
            self._out.flush()
        else:
            self._held.append(text)
