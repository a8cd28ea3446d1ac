"""docs/requirements.md and the tests agree, both ways."""

from tests.docs.requirements import (
    PAGE,
    nameless_tests,
    proofs_in_tests,
    proofs_on_page,
    sections,
    words_of,
    written,
)

RENEW = "run: python -m tests.docs.requirements --write"


def test_every_test_says_what_it_proves() -> None:
    """L16: a test's docstring begins with the requirement it is about."""
    assert nameless_tests() == []


def test_every_file_that_names_a_requirement_is_on_the_page() -> None:
    """L16: a requirement lists each file with a test whose docstring names it."""
    missing = proofs_in_tests() - proofs_on_page()
    assert sorted(missing) == [], RENEW


def test_every_file_on_the_page_has_a_test_that_names_its_requirement() -> None:
    """L16: the page claims no proof that is not there."""
    claimed = proofs_on_page() - proofs_in_tests()
    assert sorted(claimed) == [], RENEW


def test_every_requirement_on_the_page_has_words_and_a_test() -> None:
    """L16: a requirement is on the page only with what it means and a test that proves it."""
    proven = {proof.requirement for proof in proofs_on_page()}
    assert [name for name in sections() if name not in proven] == []
    assert [name for name, text in sections().items() if len(words_of(text)) < 40] == []


def test_the_lists_of_the_page_are_as_the_script_writes_them() -> None:
    """L16: the page is what `--write` makes of it: the lists are not edited by hand."""
    page = PAGE.read_text()
    assert written(page) == page, RENEW
