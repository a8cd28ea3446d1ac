"""What a person sees of a call before they approve it."""

import pytest
from rich.console import Console

from agio.cli.terminal.cards import draw_card
from agio.cli.terminal.view import Card


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"run": "ls' + " " * 5_000 + '; rm -rf /"}', "ls [5000 spaces] ; rm -rf /"),
        ("ls" + "\n" * 60 + "rm -rf /", "[59 blank lines]"),
        ('{"file": "invoice\u202efdp.exe"}', "invoice\\u202efdp.exe"),
        ('{"to": "ada\u3164\u2800\u200b"}', "ada\\u3164\\u2800\\u200b"),
    ],
    ids=["spaces", "line breaks", "direction", "no shape"],
)
def test_nothing_of_a_call_is_hidden_before_it_is_approved(arguments: str, shown: str) -> None:
    """B7: blanks do not push a part of the arguments away, and every character is seen."""
    console = Console(width=100, height=24, record=True, force_terminal=False)
    console.print(draw_card(Card("call_1", "shell", arguments, "waiting")))
    text = console.export_text()
    assert shown in text
    assert len(text.splitlines()) < 10
