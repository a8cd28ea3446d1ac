"""The names of `agio` are what is promised, no more and no less."""

import ast
from pathlib import Path

import pytest

import agio


def checked_names() -> dict[str, str]:
    """Return the names of the TYPE_CHECKING block of agio/__init__.py and where each comes from."""
    source = Path(str(agio.__file__)).read_text(encoding="utf-8")
    (block,) = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    return {
        alias.asname or alias.name: str(statement.module)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def test_every_promised_name_is_there() -> None:
    """L7: each name of `__all__` resolves, once and for good."""
    assert len(set(agio.__all__)) == len(agio.__all__)
    for name in agio.__all__:
        assert getattr(agio, name) is getattr(agio, name)
        assert name in vars(agio)


def test_type_checkers_and_programs_see_the_same_names() -> None:
    """L7: the lazy map, the TYPE_CHECKING block and `__all__` agree, and so do the modules they name."""
    homes = agio._HOME_OF  # pyright: ignore[reportPrivateUsage]
    assert set(homes) == set(agio.__all__)
    assert checked_names() == homes


def test_every_public_class_and_function_says_what_it_is() -> None:
    """L7: no public name without a docstring."""
    bare = [
        name
        for name in agio.__all__
        if (isinstance(value := getattr(agio, name), type) or callable(value))
        and getattr(value, "__module__", "").startswith("agio.")
        and not getattr(agio, name).__module__.startswith("agio.protocol")
        and not value.__doc__
    ]
    assert bare == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    """L7: and no import that happens to work."""
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        _ = agio.Agnet  # type: ignore[attr-defined] # pyright: ignore
    assert "library" not in agio.__all__


def test_a_star_import_works() -> None:
    """L7: `from agio import *` brings every promised name."""
    names: dict[str, object] = {}
    exec("from agio import *", names)
    assert set(agio.__all__) <= set(names)
