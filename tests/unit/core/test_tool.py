"""A function becomes a tool: its schema, its documentation, and what is refused."""

import dataclasses
import enum
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Literal, Optional, TypedDict, cast

import msgspec
import pydantic
import pytest

from agio import ToolContext, UserError, client_tool, tool
from agio.core.schema.schema import Schema
from agio.core.tool import AnyTool, Approval, Effect
from agio.protocol.messages import Json, json_object


@dataclasses.dataclass
class Point:
    """A place."""

    x: int
    y: int = 0


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Options(TypedDict, total=False):
    deep: bool


class Folder(msgspec.Struct):
    name: str
    inside: list["Folder"] = []


class Street(pydantic.BaseModel):
    name: str


class Address(pydantic.BaseModel):
    street: Street
    number: int = 1


class Person(pydantic.BaseModel):
    children: list["Person"] = []


def properties(made: AnyTool) -> dict[str, Json]:
    return json_object(made.parameters["properties"])


def test_every_kind_of_hint_becomes_schema() -> None:
    """L2: dataclasses, enums, Literal, Optional, unions, lists, dicts and TypedDicts have a schema."""

    @tool
    def plan(
        place: Point,
        color: Color,
        size: Literal["s", "l"],
        note: Optional[str],  # noqa: UP045 - the old spelling must work too
        mixed: int | str,
        tags: list[str],
        counts: dict[str, int],
        options: Options,
        anything: object = None,
    ) -> None:
        """Plan it."""

    assert properties(plan) == {
        "place": {
            "title": "Point",
            "description": "A place.",
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
            "required": ["x"],
        },
        "color": {"title": "Color", "enum": ["blue", "red"]},
        "size": {"enum": ["l", "s"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "mixed": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "options": {
            "title": "Options",
            "type": "object",
            "properties": {"deep": {"type": "boolean"}},
            "required": [],
        },
        "anything": {"description": "Any JSON value.", "default": None},
    }
    assert plan.parameters["required"] == [
        "place",
        "color",
        "size",
        "note",
        "mixed",
        "tags",
        "counts",
        "options",
    ]
    assert plan.parameters["additionalProperties"] is False
    assert "title" not in plan.parameters


def test_a_pydantic_model_brings_its_nested_schema_along() -> None:
    """L2: references inside a pydantic model are resolved in the tool's schema."""

    @tool
    def move(to: Address) -> None:
        """Move."""

    street = json_object(json_object(properties(move)["to"])["properties"])["street"]
    assert json_object(street)["properties"] == {"name": {"title": "Name", "type": "string"}}
    assert "$defs" not in move.parameters


def test_two_models_may_each_have_a_part_of_the_same_name() -> None:
    """L2: equal names of nested pydantic models do not overwrite each other."""

    def other_address() -> type:
        class Street(pydantic.BaseModel):
            code: int

        class Address(pydantic.BaseModel):
            street: Street

        return Address

    def compare(ours: object, theirs: object) -> None:
        """Compare."""

    compare.__annotations__.update(ours=Address, theirs=other_address())
    made = tool(compare)
    parts = [
        json_object(json_object(json_object(json_object(schema)["properties"])["street"])["properties"])
        for schema in properties(made).values()
    ]
    assert [list(part) for part in parts] == [["name"], ["code"]]


@pytest.mark.parametrize("kind", [Folder, Person])
def test_a_recursive_type_keeps_only_the_references_it_needs(kind: type) -> None:
    """L2: a type that contains itself refers to itself in $defs, and nothing else is in there."""

    def show(root: object) -> None:
        """Show."""

    show.__annotations__["root"] = kind
    made = tool(show)
    definitions = json_object(made.parameters["$defs"])
    assert len(definitions) == 1
    (name,) = definitions
    assert f"#/$defs/{name}" in msgspec.json.encode(made.parameters).decode()
    client_tool("same", "", made.parameters)


@pytest.mark.parametrize(
    "docstring",
    [
        "Add numbers.\n\nArgs:\n    a: The first.\n    b: The second.\n",
        "Add numbers.\n\n:param a: The first.\n:param b: The second.\n",
        "Add numbers.\n\nParameters\n----------\na : int\n    The first.\nb : int\n    The second.\n",
    ],
    ids=["google", "sphinx", "numpy"],
)
def test_the_docstring_describes_the_tool_and_its_parameters(docstring: str) -> None:
    """L2: Google, Sphinx and numpy docstrings are understood."""

    def add(a: int, b: int) -> int:
        return a + b

    add.__doc__ = docstring
    made = tool(add)
    assert made.description == "Add numbers."
    assert [json_object(schema)["description"] for schema in properties(made).values()] == [
        "The first.",
        "The second.",
    ]


def test_a_strange_docstring_is_taken_as_it_is() -> None:
    """L2: a docstring in no known style does no harm."""

    def odd(x: int) -> None:
        """Do :param: it
        :param x the thing
        Args:
        Returns
        """

    assert tool(odd).description.startswith("Do :param: it")
    odd.__doc__ = None
    assert tool(odd).description == ""


def test_annotated_text_describes_a_parameter() -> None:
    """L2: Annotated text beats the docstring, and constraints are kept."""

    @tool
    def find(
        query: Annotated[str, "What to look for."],
        limit: Annotated[int, msgspec.Meta(ge=1, le=9), "How many."] = 3,
    ) -> None:
        """Find.

        Args:
            query: Not this.
        """

    assert properties(find) == {
        "query": {"description": "What to look for.", "type": "string"},
        "limit": {"description": "How many.", "type": "integer", "minimum": 1, "maximum": 9, "default": 3},
    }


@pytest.mark.parametrize(
    "default",
    [[1], {"a": 1}, {1}, bytearray(b"x"), Folder("root"), Address(street=Street(name="Elm"))],
    ids=lambda value: type(value).__name__,
)
def test_a_mutable_default_is_not_shared_between_calls(default: object) -> None:
    """L2: a list, dict, set, struct or model as a default is copied for every call."""

    def keep(value: object = None) -> object:
        return value

    keep.__annotations__["value"] = type(default)
    keep.__defaults__ = (default,)
    made = tool(keep)
    assert made.arguments is not None
    first, second = made.arguments(), made.arguments()
    assert first.value == default
    assert first.value is not second.value


def test_the_context_parameter_is_hidden_from_the_model() -> None:
    """L2: a ToolContext parameter is found by its type, optional or not, and is not in the schema."""

    @tool
    def first(context: ToolContext, x: int) -> None:
        """Do."""

    @tool
    def second(x: int, ctx: ToolContext | None = None) -> int:
        """Do."""
        return x

    assert (first.context_parameter, list(properties(first))) == ("context", ["x"])
    assert (second.context_parameter, list(properties(second))) == ("ctx", ["x"])
    assert second(4) == 4


async def test_a_decorated_function_stays_callable() -> None:
    """L2: sync, async, with and without parentheses, the function can still be called."""

    @tool
    def double(x: int) -> int:
        """Double."""
        return 2 * x

    @tool(name="thrice", description="Three times.", effect="read", approval="ask", timeout_s=2)
    async def triple(x: int) -> int:
        """Triple."""
        return 3 * x

    assert double(4) == 8
    assert await triple(x=4) == 12
    assert (triple.name, triple.description, triple.timeout_s) == ("thrice", "Three times.", 2)
    assert (double.effect, double.approval, double.timeout_s) == ("once", "never", None)


class Scale:
    """Scales numbers."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def times(self, x: int) -> int:
        """Multiply."""
        return x * self.factor

    def __call__(self, x: int) -> int:
        """Multiply too."""
        return x * self.factor


def power(base: int, exponent: int) -> int:
    """Raise a number."""
    return base**exponent


def test_methods_partials_and_callable_objects_are_tools() -> None:
    """L2: name and description come from what is wrapped; an object without a name needs one."""
    method = tool(Scale(3).times)
    square = tool(functools.partial(power, exponent=2))
    scale = tool(name="scale")(Scale(5))
    assert (method.name, method.description, list(properties(method))) == ("times", "Multiply.", ["x"])
    assert (square.name, square.description) == ("power", "Raise a number.")
    assert (scale.description, list(properties(scale))) == ("Multiply too.", ["x"])
    assert (method(2), square(3), scale(2)) == (6, 9, 10)
    with pytest.raises(UserError, match="give it one with tool") as caught:
        tool(Scale(5))
    assert caught.value.code == "invalid_tool"


def positional(x: int, /) -> None: ...
def variadic(*values: int) -> None: ...
def keywords(**values: int) -> None: ...
def unhinted(x) -> None: ...  # type: ignore[no-untyped-def] # pyright: ignore
def two_contexts(a: ToolContext, b: ToolContext) -> None: ...
def unknown_name(x: "Nowhere") -> None: ...  # type: ignore[name-defined] # noqa: F821 # pyright: ignore
def unknown_attribute(x: "enum.Nowhere") -> None: ...  # type: ignore[name-defined] # pyright: ignore
def broken_hint(x: "int[") -> None: ...  # type: ignore[valid-type] # noqa: F722 # pyright: ignore
def élan(x: int) -> None: ...


def yielding(x: int) -> Iterator[int]:
    yield x


async def async_yielding(x: int) -> AsyncIterator[int]:
    yield x


REFUSED: list[tuple[object, str]] = [
    (positional, "remove the /"),
    (variadic, "name every parameter"),
    (keywords, "name every parameter"),
    (cast(object, unhinted), "no type hint"),
    (two_contexts, "one is enough"),
    (cast(object, unknown_name), "Nowhere"),
    (cast(object, unknown_attribute), "Nowhere"),
    (broken_hint, "cannot be read"),
    (élan, "use up to 64 letters"),
    (lambda: None, "use up to 64 letters"),
    (yielding, "return its result"),
    (async_yielding, "return its result"),
    (print, "name every parameter"),
    (5, "no name"),
]


@pytest.mark.parametrize(("function", "advice"), REFUSED)
def test_what_cannot_be_a_tool_is_refused_with_advice(function: Callable[..., object], advice: str) -> None:
    """L13: a signature a model cannot call is a UserError `invalid_tool` that says what to change."""
    with pytest.raises(UserError) as caught:
        tool(function)
    assert caught.value.code == "invalid_tool"
    assert advice in caught.value.message


@pytest.mark.parametrize("hint", [complex, Callable[[], int], ToolContext.__init__, Point | Folder])
def test_a_type_without_a_schema_is_refused(hint: object) -> None:
    """L13: a parameter of a type that JSON cannot say is a UserError `invalid_schema`."""

    def odd(x: object) -> None: ...

    odd.__annotations__["x"] = hint
    with pytest.raises(UserError, match="Use plain types") as caught:
        tool(odd)
    assert caught.value.code == "invalid_schema"
    assert "schema_hook" not in caught.value.message


@pytest.mark.parametrize("name", ["", "9lives", "a b", "a.b", "a\n", "x" * 65, 5, None])
def test_a_name_no_model_service_takes_is_refused(name: object) -> None:
    """L13: names are what all four wire formats accept."""
    with pytest.raises(UserError) as caught:
        client_tool(cast(str, name), "", {"type": "object"})
    assert caught.value.code == "invalid_tool"


def test_a_misspelt_effect_or_approval_is_refused() -> None:
    """L13: a typing error must not turn a call that asks first into one that does not."""
    for effect, approval in (("onse", "never"), ("once", "asks")):
        with pytest.raises(UserError, match="say one of") as caught:
            tool(effect=cast(Effect, effect), approval=cast(Approval, approval))(power)
        assert caught.value.code == "invalid_tool"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {},
        None,
        5,
        {"type": "object", "properties": 5},
        {"type": "object", "properties": {"a": {"type": "strin"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"type": "object", "default": object()},
    ],
)
def test_a_malformed_schema_of_a_client_tool_is_refused(schema: object) -> None:
    """L13: a client's tool needs a valid JSON schema of type object."""
    with pytest.raises(UserError) as caught:
        client_tool("remote", "", cast(Schema, schema))
    assert caught.value.code == "invalid_schema"
    assert "remote" in caught.value.message


def test_a_client_tool_cannot_be_called_here() -> None:
    """L2: what the client runs has no implementation in this process."""
    with pytest.raises(UserError, match="its client runs it") as caught:
        client_tool("remote", "", {"type": "object"})()
    assert caught.value.code == "client_tool"
