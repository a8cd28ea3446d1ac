"""Asks a person to approve the calls a run ended with, and builds the answers for the next run."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import msgspec
from msgspec import UNSET

from agio.cli.terminal.prompt import Prompt
from agio.cli.terminal.view import Card
from agio.protocol.events import Interrupt
from agio.protocol.messages import Json, ResumeEntry

_CHOICES = "[y]es, [n]o or [e]dit the arguments: "
NO_PERSON = "no person available to approve"


def ask(
    interrupts: Sequence[Interrupt],
    cards: Mapping[str, Card],
    prompt: Prompt,
    complain: Callable[[str], None],
) -> list[ResumeEntry] | None:
    """Ask about each call; None if the person leaves a question open."""
    try:
        return [_ask_one(interrupt, _card_of(interrupt, cards), prompt, complain) for interrupt in interrupts]
    except EOFError:
        return None


def refuse(interrupts: Sequence[Interrupt]) -> list[ResumeEntry]:
    """Decline every call, because no person can be asked."""
    return [_entry(interrupt, {"approved": False, "reason": NO_PERSON}) for interrupt in interrupts]


def _card_of(interrupt: Interrupt, cards: Mapping[str, Card]) -> Card | None:
    return None if interrupt.tool_call_id is UNSET else cards.get(interrupt.tool_call_id)


def _ask_one(
    interrupt: Interrupt, card: Card | None, prompt: Prompt, complain: Callable[[str], None]
) -> ResumeEntry:
    name = "this" if card is None else card.name
    while True:
        answer = prompt.question(f"Call {name}? {_CHOICES}").lower()
        if answer in ("y", "yes"):
            return _entry(interrupt, {"approved": True})
        if answer in ("n", "no"):
            reason = prompt.question("Reason (optional; the agent sees it): ")
            return _entry(interrupt, {"approved": False, "reason": reason})
        if answer in ("e", "edit") and card is not None:
            edited = _edit(card.arguments or "{}", prompt, complain)
            if edited is not None:
                return _entry(interrupt, {"approved": True, "editedArgs": edited})
        elif answer:
            complain("Please answer y, n or e.")


def _edit(arguments: str, prompt: Prompt, complain: Callable[[str], None]) -> dict[str, Json] | None:
    """Let the person edit the arguments until they are a JSON object; None if they give up."""
    draft = arguments
    while True:
        text = prompt.question("Arguments as JSON (empty: back): ", draft)
        if not text:
            return None
        try:
            value = cast(Json, msgspec.json.decode(text))
            if isinstance(value, dict):
                return cast("dict[str, Json]", value)
            complain("The arguments must be a JSON object, such as {}.")
        except msgspec.DecodeError as error:
            complain(f"This is not JSON: {error}.")
        draft = text


def _entry(interrupt: Interrupt, payload: dict[str, Json]) -> ResumeEntry:
    return ResumeEntry(interrupt.id, "resolved", payload)
