"""Reads a service's list of models, as untrusted input. The drivers supply its address."""

from typing import cast

import msgspec
from msgspec import Struct

from agio.drivers.http import ModelHttp
from agio.protocol.messages import Json

LIST_BYTES = 4 * 1024 * 1024
MAX_NAMES = 500
_NAME_CHARS = 200


class Shape(Struct, frozen=True):
    """Where the names are in a vendor's list."""

    items: str
    name: str
    prefix: str = ""
    """The prefix to strip from each name."""
    methods: str = ""
    """The field with a model's supported methods, if the vendor has one."""


OPENAI = Shape("data", "id")
ANTHROPIC = Shape("data", "id")
GEMINI = Shape("models", "name", "models/", "supportedGenerationMethods")
_GENERATES = "generateContent"


async def fetch_names(http: ModelHttp, url: str, shape: Shape) -> list[str]:
    """Return a service's models in its order, without duplicates, at most `MAX_NAMES`. Raises ModelError."""
    body = await http.fetch(url, LIST_BYTES)
    try:
        decoded: Json = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise http.faults.make("invalid_response", f"{error}.") from error
    items = cast(dict[str, Json], decoded).get(shape.items, False) if isinstance(decoded, dict) else decoded
    if items is None:  # an empty list in Ollama
        return []
    if not isinstance(items, list):
        raise http.faults.make("invalid_response", "it has no list of models.")
    names: dict[str, None] = {}
    for item in cast(list[Json], items):
        name = _name_in(item, shape)
        if name is not None and not http.faults.holds_secret(name):
            names[name] = None
        if len(names) == MAX_NAMES:
            break
    return list(names)


def _name_in(item: Json, shape: Shape) -> str | None:
    """Return the name of one entry; None if an agent could not use it."""
    if not isinstance(item, dict):
        return None
    fields = cast(dict[str, Json], item)
    name, methods = fields.get(shape.name), fields.get(shape.methods)
    if not isinstance(name, str) or (isinstance(methods, list) and _GENERATES not in methods):
        return None
    name = name.strip().removeprefix(shape.prefix)
    return name if name.strip() and len(name) <= _NAME_CHARS and name.isprintable() else None
