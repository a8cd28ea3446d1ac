"""A question set with known evidence, made to be hard for words: paraphrases, names, dates, negations.

Each line of questions.txt is a memory, the day it is of, and questions that it answers. Around them stand memories on
the same matters about other people, which share their words.
"""

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from agio.db.search.stems import MONTHS


class Evidence(NamedTuple):
    """A memory and the questions that it answers."""

    text: str
    day: str
    questions: tuple[str, ...]


NOW = int(datetime(2026, 6, 3, 12, tzinfo=UTC).timestamp() * 1000)
"""When the questions are asked: a Wednesday."""

_PEOPLE = [
    "Amira",
    "Bruno",
    "Chen",
    "Dagmar",
    "Emeka",
    "Farah",
    "Goran",
    "Hana",
    "Ivo",
    "Jolanda",
    "Kofi",
    "Lena",
]
_PLACES = [
    "Bern",
    "Thun",
    "Basel",
    "Zurich",
    "Delft",
    "Leipzig",
    "Sils",
    "Worb",
    "Olomouc",
    "Oslo",
    "Porto",
    "Ghent",
]
_THINGS = ["the bicycle", "a kayak", "two monitors", "the tent", "a passport", "the boiler", "a red car", "stamps",
           "a fig tree", "the flat", "the slides", "an oboe", "glasses", "a phone", "tea", "a dog"]  # fmt: skip
_TEMPLATES = [
    "{who} from {place} asked about {thing}.",
    "{who} has {thing} and is moving to {place} in {month}.",
    "Talked with {who} about {thing} on {day} {month}.",
    "{who} doesn't like {thing}, and never has.",
    "{who} bought {thing} in {place} for {n} francs.",
    "{who} does not work on Fridays in {month}.",
    "The job of {who} in {place} ended on {day} {month}.",
    "{who} promised to send {thing} to {other} by {day} {month}.",
    "{who} and {other} drink coffee in {place} every second week.",
    "{other} was called by {who} before nine because of {thing}.",
]
_MONTHS = [name.capitalize() for name in MONTHS]


def evidence() -> list[Evidence]:
    """The memories with questions."""
    found: list[Evidence] = []
    for line in Path(__file__).with_name("questions.txt").read_text(encoding="utf-8").splitlines():
        text, day, *questions = line.split("|")
        found.append(Evidence(text, day, tuple(questions)))
    return found


def distractors(count: int, seed: int = 7) -> list[tuple[str, int]]:
    """Memories on the same matters, each with its time in milliseconds."""
    chance = random.Random(seed)
    made: dict[str, int] = {}
    while len(made) < count:
        text = chance.choice(_TEMPLATES).format(
            who=chance.choice(_PEOPLE),
            other=chance.choice(_PEOPLE),
            place=chance.choice(_PLACES),
            thing=chance.choice(_THINGS),
            month=chance.choice(_MONTHS),
            day=chance.randint(1, 28),
            n=chance.randint(5, 2000),
        )
        text += f" ({len(made)})" if text in made or count > 20_000 else ""
        made[text] = NOW - chance.randint(0, 1000) * 24 * 3600 * 1000
    return list(made.items())
