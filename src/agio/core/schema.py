"""JSON schemas from Python types, and values checked against them.

Types are what msgspec knows (dataclasses, structs, TypedDicts, enums, Literal, Optional, list, dict ...)
and pydantic models, which are recognised without importing pydantic.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn, Protocol, TypeGuard, cast

import msgspec

from agio.core.pattern_cost import BACKTRACK_STEPS
from agio.core.schema_cost import SchemaCost
from agio.errors import UserError
from agio.protocol.messages import Json

Schema = dict[str, Json]
_REF = "#/$defs/"
_PROBLEM_CHARS = 2_000
"""How much is told of what is wrong: a text that is too long is in its own message."""


class _PydanticModel(Protocol):
    """What is used of a pydantic model class."""

    def model_json_schema(self, *, ref_template: str) -> Schema: ...

    def model_validate(self, obj: object) -> object: ...

    def model_dump(self, *, mode: str) -> Json: ...


def is_pydantic(kind: object) -> TypeGuard[_PydanticModel]:
    """Whether a type is a pydantic model."""
    return isinstance(kind, type) and hasattr(kind, "model_json_schema") and hasattr(kind, "model_validate")


def schema_of(kind: object, what: str) -> Schema:
    """Make the JSON schema of a type, references resolved unless the type is recursive.

    `what` names the thing in the error. Raises UserError `invalid_schema`.
    """
    definitions: Schema = {}

    def foreign(custom: type) -> Schema:
        name = custom.__name__
        if custom is object:
            return {"description": "Any JSON value."}
        if not is_pydantic(custom):
            raise TypeError(f"{name} is not supported")
        # Two models may each define a type of the same name: the prefix keeps them apart.
        prefix = f"{name}_{len(definitions)}_"
        schema = custom.model_json_schema(ref_template=_REF + prefix + "{model}")
        own = cast(Schema, schema.pop("$defs", {}))
        definitions.update({prefix + key: definition for key, definition in own.items()})
        return schema

    try:
        (schema,), components = msgspec.json.schema_components(
            [cast(type, kind)], schema_hook=foreign, ref_template=_REF + "{name}"
        )
    except TypeError as error:
        raise UserError(
            "invalid_schema",
            f"{what} has a type that has no JSON schema: {error}. Use plain types, dataclasses, Literal, "
            "lists, dicts, msgspec structs or pydantic models.",
        ) from error
    definitions.update(components)
    return _resolve(schema, definitions)


def _resolve(schema: Schema, definitions: Schema) -> Schema:
    recursive: set[str] = set()

    def walk(node: Json, trail: tuple[str, ...]) -> Json:
        if isinstance(node, list):
            return [walk(item, trail) for item in cast(list[Json], node)]
        if not isinstance(node, dict):
            return node
        node = cast(Schema, node)
        reference = node.get("$ref")
        if not isinstance(reference, str) or not reference.startswith(_REF):
            return {key: walk(value, trail) for key, value in node.items()}
        name = reference.removeprefix(_REF)
        if name in trail:
            recursive.add(name)
            return node
        target = walk(definitions[name], (*trail, name))
        extra = {key: walk(value, trail) for key, value in node.items() if key != "$ref"}
        return {**cast(Schema, target), **extra}

    resolved = cast(Schema, walk(schema, ()))
    kept: Schema = {}
    while missing := recursive - kept.keys():
        for name in sorted(missing):
            kept[name] = walk(definitions[name], (name,))
    return {**resolved, "$defs": kept} if kept else resolved


def convert(value: Json, kind: object) -> object:
    """Turn a JSON value into a value of the type. Raises ValueError with a sentence for the model."""

    def foreign(custom: type, raw: object) -> object:
        return custom.model_validate(raw) if is_pydantic(custom) else raw

    return msgspec.convert(value, cast("type[object]", kind), dec_hook=foreign, str_keys=True)


def to_json(value: object) -> Json:
    """Turn any value agio can serialise into plain JSON. Raises TypeError for what it cannot."""

    def foreign(raw: object) -> Json:
        if is_pydantic(type(raw)):
            return cast(_PydanticModel, raw).model_dump(mode="json")
        raise TypeError(f"objects of type {type(raw).__name__} cannot be serialised as JSON")

    return msgspec.to_builtins(_plain(value), enc_hook=foreign)


def _plain(value: object) -> object:
    """Spell out dataclasses: msgspec reads their `__dict__`, which lacks the defaults it left on the class."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name)) for part in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Iterable[object]", value)]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[object, object]", value).items()}
    return value


def validator(schema: Mapping[str, Json], what: str) -> Callable[[Json], str | None]:
    """Compile a JSON schema: the function returns what is wrong with a value, or None. It takes a second at most.

    Raises UserError `invalid_schema` if it is not a JSON schema, or one that would take for ever.
    """
    import jsonschema_rs

    whole = dict(schema)
    cost = SchemaCost(whole)
    if not cost.is_bounded():
        raise UserError(
            "invalid_schema", f"{what}: its references multiply. Refer to fewer parts, or less often."
        )
    if not cost.has_small_patterns():
        raise UserError(
            "invalid_schema", f"{what}: its patterns are too large. Use fewer, or repeat less in them."
        )
    limited = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_STEPS)
    try:
        compiled = jsonschema_rs.validator_for(whole, retriever=_refuse, pattern_options=limited)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError) as error:
        first_line = str(error).partition("\n")[0]
        raise UserError("invalid_schema", f"{what}: this is no valid JSON schema. {first_line}.") from error

    def check(value: Json) -> str | None:
        if not cost.is_affordable(value):
            return "it is too large to be checked against this schema"
        if compiled.is_valid(value):
            return None
        if cost.is_explained(value):
            try:
                compiled.validate(value)  # stops at the first problem, iter_errors finds all of them before
            except jsonschema_rs.ValidationError as problem:
                where = "/".join(str(step) for step in problem.instance_path)
                told = _shortened(problem.message)
                return f"{told} (at {where})" if where else told
        return "it is not what the schema says"

    return check


def _shortened(text: str) -> str:
    """Leave out the middle of a long text: what is wrong is said at its end."""
    half = _PROBLEM_CHARS // 2
    return text if len(text) <= _PROBLEM_CHARS else f"{text[:half]} ... {text[-half:]}"


def _refuse(uri: str) -> NoReturn:
    """Keep a schema from reaching for files and addresses: clients declare schemas too."""
    raise ValueError(f"{uri} is outside the schema: put what it refers to into $defs")


class OutputType:
    """What a final answer must be: a type, or a JSON schema as a dict."""

    def __init__(self, kind: object) -> None:
        self._kind: object | None = None
        if isinstance(kind, dict):
            self.schema = cast(Schema, kind)
            self._check = validator(self.schema, "output_type")
            title = self.schema.get("title")
            self.name = title if isinstance(title, str) and title.isidentifier() else "output"
        else:
            self._kind = kind
            self.schema = schema_of(kind, "output_type")
            self._check = None
            self.name = getattr(kind, "__name__", "output")

    def parse(self, text: str) -> object:
        """Turn the model's text into a value of the type. Raises ValueError saying what is wrong."""
        try:
            value = cast(Json, msgspec.json.decode(_unfenced(text)))
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None
        return self.accept(value)

    def accept(self, value: Json) -> object:
        """Turn a JSON value into a value of the type. Raises ValueError saying what is wrong."""
        if self._check is not None:
            if problem := self._check(value):
                raise ValueError(problem)
            return value
        return convert(value, self._kind)


def _unfenced(text: str) -> str:
    """Take the JSON out of a markdown fence: models without a structured mode like to add one."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        return stripped.removesuffix("```").partition("\n")[2]
    return stripped
