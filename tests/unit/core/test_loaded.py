"""The conversations of tests/wire/loaded.json, which the pages' tests compare with the streams they came from."""

from tests.unit.core.loaded import FILE, render


def test_what_is_kept_of_the_streams_is_what_the_pages_are_tested_with() -> None:
    """C8: a page that is loaded again is given this (python -m tests.unit.core.loaded --write)."""
    assert FILE.read_bytes() == render()
