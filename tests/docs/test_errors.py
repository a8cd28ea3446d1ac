"""The catalogue of codes says what the source says, and its page says what the catalogue says."""

import pytest

from agio.cli.commands.explain import explain, list_codes, load_catalogue
from agio.core.config import AgentRunConfig
from agio.errors import UserError
from tests.docs import errors
from tests.support.codes import error_codes, notice_codes, result_codes

BESIDE = ("tool results", "notices")


def test_every_code_of_an_error_is_in_the_catalogue_once_and_no_other_is() -> None:
    """L8, L13: what the source can say is what the catalogue explains."""
    named = [
        code for title, section in load_catalogue().items() for code in section.codes if title not in BESIDE
    ]
    assert sorted(named) == sorted(error_codes())


def test_every_code_of_a_tool_result_or_notice_is_in_the_catalogue_and_no_other_is() -> None:
    """L8, L13: the same for what the model is told and for what people are."""
    assert set(load_catalogue()["tool results"].codes) == result_codes()
    assert set(load_catalogue()["notices"].codes) == notice_codes()


def test_a_code_that_is_tried_again_is_one_of_the_model() -> None:
    """L8: the page shows the defaults of `retries` beside them."""
    assert AgentRunConfig().retries.keys() <= load_catalogue()["the model"].codes.keys()


def test_the_page_of_errors_is_current() -> None:
    """L8: docs/errors.md is what the catalogue makes of it."""
    errors.main()


def test_a_code_is_explained_at_the_command_line() -> None:
    """L13: its meaning and what to do; all of them; and a word about one that does not exist."""
    assert "What to do: free some space" in explain("store_full")
    assert all(code in list_codes() for code in error_codes())
    with pytest.raises(UserError) as caught:
        explain("no_such_code")
    assert caught.value.code == "unknown_code"
