"""Writes the OpenAPI document, without refusals, to standard output: the pages' TypeScript types are made of it."""

import sys
from typing import Any

import msgspec

from agio.gateway.routes.rest import describe_api

_METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def without_refusals(described: dict[str, Any]) -> dict[str, Any]:
    """Leave out the refusals, which all look the same."""
    for path in described["paths"].values():
        for method in _METHODS & path.keys():
            answers = path[method]["responses"]
            path[method]["responses"] = {code: answers[code] for code in answers if code < "400"}
    return described


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(without_refusals(msgspec.json.decode(describe_api()))))
