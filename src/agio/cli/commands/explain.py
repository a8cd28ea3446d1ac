"""`agio explain`: prints the entries of `errors.toml`, the meaning of each stable error code."""

import re
import tomllib
from functools import cache
from importlib.resources import files

from msgspec import Struct

from agio.errors import UserError

_LINK = re.compile(r"\[([^]]*)]\([^)]*\)")


class Code(Struct, frozen=True):
    """A stable code: its section, meaning and remedy (empty if there is none)."""

    name: str
    section: str
    meaning: str
    remedy: str


class Section(Struct, frozen=True):
    """Codes of one kind, with an introduction."""

    about: str
    codes: dict[str, Code]


@cache
def load_catalogue() -> dict[str, Section]:
    """Read the catalogue, its sections by title."""
    read = tomllib.loads(files("agio").joinpath("errors.toml").read_text("utf-8"))
    return {
        title: Section(
            section["about"],
            {name: Code(name, title, *words) for name, words in section["codes"].items()},
        )
        for title, section in read.items()
    }


def explain(name: str) -> str:
    """Return the meaning and remedy of a code. Raises UserError `unknown_code`."""
    found = [
        code for section in load_catalogue().values() for code in section.codes.values() if code.name == name
    ]
    if not found:
        raise UserError("unknown_code", f"There is no code {name}. List all codes: agio explain")
    lines = [f"{name}: {found[0].meaning}."]
    if found[0].remedy:
        lines.append(f"What to do: {found[0].remedy}.")
    return _LINK.sub(r"\1", "\n".join(lines))


def list_codes() -> str:
    """Return all codes with their meanings, by section."""
    lines: list[str] = []
    for title, section in load_catalogue().items():
        lines += ["", title, *(f"  {code.name:<26} {code.meaning}" for code in section.codes.values())]
    return _LINK.sub(r"\1", "\n".join(lines[1:]))
