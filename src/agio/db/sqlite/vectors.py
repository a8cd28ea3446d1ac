"""The functions of vectors in SQL: of sqlite-vec, or of Python where that extension cannot be loaded."""

import logging
import math
import struct
from functools import cache
from importlib import import_module
from typing import Protocol, cast

import msgspec

from agio.db.sqlite.connector import Connection

_log = logging.getLogger("agio.db")


class _Extension(Protocol):
    def loadable_path(self) -> str: ...


def load_vectors(connection: Connection) -> None:
    """Add `vec_f32` (JSON to a vector) and `vec_distance_cosine` to a connection."""
    try:
        connection.enable_load_extension(True)
        connection.load_extension(cast("_Extension", import_module("sqlite_vec")).loadable_path())
        connection.enable_load_extension(False)
    except Exception as error:  # apsw raises several kinds, and a build may not have extensions at all
        _warn(str(error))
        connection.create_scalar_function("vec_f32", vec_f32, 1, deterministic=True)
        connection.create_scalar_function("vec_distance_cosine", vec_distance_cosine, 2, deterministic=True)


def vec_f32(text: object) -> object:
    """Pack a JSON list as 32-bit floats."""
    numbers = msgspec.json.decode(str(text), type=list[float])
    return struct.pack(f"<{len(numbers)}f", *numbers)


def vec_distance_cosine(one: object, other: object) -> object:
    """Return the cosine distance of two packed vectors."""
    if not isinstance(one, bytes) or not isinstance(other, bytes):
        return None
    a, b = memoryview(one).cast("f"), memoryview(other).cast("f")
    lengths = math.hypot(*a) * math.hypot(*b)
    return 1 - sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else None


@cache
def _warn(why: str) -> None:
    _log.warning(
        "sqlite-vec cannot be loaded (%s): vectors are compared in Python, which takes about 50 times as long",
        why,
    )
