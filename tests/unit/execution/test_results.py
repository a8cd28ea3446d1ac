"""What tools return, as the model gets it."""

import dataclasses
from typing import cast

import pydantic
import pytest

from agio import Image
from agio.core.tool import ToolAnswer
from agio.execution.results import answer_of, cut
from agio.protocol.messages import DataSource, ImagePart, TextPart

LIMIT = 1000


@dataclasses.dataclass
class Weather:
    city: str
    degrees: float


class Forecast(pydantic.BaseModel):
    days: list[int]


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        ("", ""),
        (None, "Done."),
        (5, "5"),
        (True, "true"),
        (2**70, str(2**70)),
        (float("nan"), "null"),
        ([], "[]"),
        (["a", "b"], '["a","b"]'),
        ({"a": {1}}, '{"a":[1]}'),
        (Weather("Graz", 21.5), '{"city":"Graz","degrees":21.5}'),
        ([Forecast(days=[1, 2])], '[{"days":[1,2]}]'),
        (b"ab", '"YWI="'),
        ("a\x00\x1b[31mb\ud800c\nd\te", "a[31mbc\nd\te"),
        ({"file\udcff": ["\ud800x"]}, '{"file": ["x"]}'),
    ],
)
def test_a_returned_value_becomes_text(value: object, content: str) -> None:
    """L2: text stays text, everything else is JSON, what no service takes is removed."""
    assert answer_of(value, LIMIT) == ToolAnswer(content)


def test_images_and_parts_stay_parts() -> None:
    """L2: a tool may return images, parts, and lists of them with text between."""
    picture = Image(b"\x89PNG", "image/png")
    part = ImagePart(DataSource("iVBORw==", "image/png"))
    assert answer_of(picture, LIMIT).content == [part]
    assert answer_of(part, LIMIT).content == [part]
    assert answer_of(TextPart("hi\x00"), LIMIT).content == [TextPart("hi")]
    assert answer_of(["Look:", picture], LIMIT).content == [TextPart("Look:"), part]


class Loop:
    def __init__(self) -> None:
        self.self = self


class Poisoned:
    """Its serialisation runs code that fails in its own way."""

    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        return {}

    @classmethod
    def model_validate(cls, value: object) -> object:
        return value

    def model_dump(self, *, mode: str) -> object:
        raise LookupError("lost\ud800")


def circle() -> list[object]:
    items: list[object] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    "value",
    [object(), Loop(), circle(), {(1, 2): 3}, (item for item in "ab"), Poisoned(), lambda: 1, open],
    ids=lambda value: type(cast(object, value)).__name__,
)
def test_a_value_that_cannot_be_serialised_is_told_and_does_not_raise(value: object) -> None:
    """L13: the model learns that the tool ran and that its result cannot be shown."""
    answer = answer_of(value, LIMIT)
    assert answer.error == "unserialisable_result"
    text = cast(str, answer.content)
    assert text.startswith("The tool ran, but its result cannot be shown")
    text.encode()


@pytest.mark.parametrize("letter", ["x", "é", "中", "🙂"])
def test_a_large_result_is_cut_with_a_note(letter: str) -> None:
    """L2: the limit counts bytes, no character is split, and the note says how much is missing."""
    text = letter * 5000
    short = cut(text, LIMIT)
    assert len(short.encode()) <= LIMIT
    head, _, note = short.partition("\n")
    assert set(head) == {letter}
    size = len(text.encode())
    assert note == f"[... cut: {size - len(head.encode())} of {size} bytes left out]"


def test_the_limit_is_exact() -> None:
    """L2: what just fits is not touched."""
    assert cut("é" * 500, LIMIT) == "é" * 500
    assert "left out" in cut("é" * 500 + "x", LIMIT)


def test_all_text_parts_together_keep_to_the_limit() -> None:
    """L2: many parts are no way around the limit."""
    content = answer_of(
        [TextPart("x" * 900), Image(b"i"), TextPart("y" * 900), TextPart("z" * 900)], LIMIT
    ).content
    assert isinstance(content, list)
    texts = [part.text for part in content if isinstance(part, TextPart)]
    assert len(content) == 4
    assert texts[0] == "x" * 900
    assert "y" not in texts[1].replace("bytes", "")
    assert sum(len(text) for text in texts) < LIMIT + 200
