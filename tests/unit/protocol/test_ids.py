"""Ids are opaque, unique, and sort by the time they were made."""

import re
import time

import pytest

from agio.protocol.ids import id_body, new_id

PATTERN = re.compile(r"run_[0-9a-hjkmnp-tv-z]{26}")


def test_ten_thousand_ids_are_unique_and_well_formed() -> None:
    """L9: ids name one thing each, in an alphabet that is safe in a URL."""
    ids = [new_id("run") for _ in range(10_000)]
    assert len(set(ids)) == 10_000
    assert all(PATTERN.fullmatch(identifier) for identifier in ids)


def test_ids_sort_by_the_millisecond_they_were_made_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """L9: a later id comes later in the order of text."""
    milliseconds = [0, 1, 31, 32, 1_764_000_000_000, 1_764_000_000_001, 2**48 - 1]
    clock = iter(ms * 1_000_000 for ms in milliseconds)
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    ids = [new_id("run") for _ in milliseconds]
    assert ids == sorted(ids)
    assert all(PATTERN.fullmatch(identifier) for identifier in ids)


def test_the_body_of_an_id_follows_its_prefix() -> None:
    """L9: ids derived from a run share its body."""
    identifier = new_id("run")
    assert f"run_{id_body(identifier)}" == identifier
    assert id_body("without") == "without"
