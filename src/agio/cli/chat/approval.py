"""Asks a person to approve the calls a run ended with, and builds the answers for the next run."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import msgspec
from msgspec import UNSET

from agio.cli.terminal.prompt import Prompt
from agio.cli.terminal.view import Card
from agio.core.run.answers import asked_input
from agio.core.schema.schema import validator
from agio.core.tool import InputQuestion
from agio.protocol.events import Interrupt
from agio.protocol.messages import Json, ResumeEntry, json_object

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
    if (asked := asked_input(interrupt)) is not None:
        return _ask_input(interrupt, asked, prompt, complain)
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


def _ask_input(
    interrupt: Interrupt, asked: InputQuestion, prompt: Prompt, complain: Callable[[str], None]
) -> ResumeEntry:
    """Ask for what a tool wants to know: yes or no, then each field of its form."""
    while (answer := prompt.question("Answer it? [y]es or [n]o: ").lower()) not in ("y", "yes", "n", "no"):
        if answer:
            complain("Please answer y or n.")
    if answer.startswith("n"):
        return _entry(interrupt, {"approved": False})
    if asked.form is None:
        return _entry(interrupt, {"approved": True})
    check = validator(asked.form, "The form")
    while True:
        content = {
            name: value
            for name, field in json_object(asked.form.get("properties")).items()
            if (value := _field(name, json_object(field), prompt)) is not UNSET
        }
        problem = check(content)
        if problem is None:
            return _entry(interrupt, {"approved": True, "content": content})
        complain(f"This does not fit: {problem}.")


def _field(name: str, field: dict[str, Json], prompt: Prompt) -> Json:
    """Ask for one field; UNSET if it is left empty. Text is taken as it is, everything else as JSON."""
    words = str(field.get("description") or field.get("title") or name)
    choices = field.get("enum")
    named = [str(choice) for choice in cast("list[Json]", choices)] if isinstance(choices, list) else []
    offered = f" ({', '.join(named)})" if named else ""
    text = prompt.question(f"{words}{offered}: ")
    if not text:
        return UNSET
    if field.get("type") == "string":
        return text
    try:
        return cast(Json, msgspec.json.decode(text))
    except msgspec.DecodeError:
        return text


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
