"""Builds JSON schemas from Python types and validates values against them.

Supports the types that msgspec supports (dataclasses, structs, TypedDicts, enums, Literal, Optional, list, dict ...)
and pydantic models, which are recognised without importing pydantic.
"""

import dataclasses
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeGuard, cast

import msgspec

from agio.core.schema.cost import SchemaCost
from agio.core.schema.pattern import KEYWORD, SMALL_BYTES, Patterns
from agio.core.schema.weighed_cache import WeighedCache
from agio.errors import UserError
from agio.protocol.messages import Json

if TYPE_CHECKING:
    import jsonschema_rs

Schema = dict[str, Json]
MAX_SCHEMA_BYTES = 64 * 1024
"""The largest size of an untrusted schema as JSON."""
_MAX_PARTS = 4_000
"""The most objects and lists in an untrusted schema, which then compiles in about 20 ms."""
_PART_BYTES = 400
"""About how much memory an object or list of a compiled schema takes."""
_KEPT_BYTES = 64 * 1024 * 1024
"""How much memory the compiled schemas of all tenants may take together."""
_TOO_LARGE = "it is too large to be checked against this schema"
_REF = "#/$defs/"
_PROBLEM_CHARS = 2_000
"""The largest length of a reported problem. A validator's message may quote the whole invalid text."""
_PARTS_BY_NAME = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
)
_VALUES = frozenset(("const", "enum", "default", "examples", "required", "dependentRequired", "type"))


class _PydanticModel(Protocol):
    """The methods of a pydantic model class that agio uses."""

    def model_json_schema(self, *, ref_template: str) -> Schema: ...

    def model_validate(self, obj: object) -> object: ...

    def model_dump(self, *, mode: str) -> Json: ...


def is_pydantic(kind: object) -> TypeGuard[_PydanticModel]:
    """Whether a type is a pydantic model, without importing pydantic."""
    return isinstance(kind, type) and hasattr(kind, "model_json_schema") and hasattr(kind, "model_validate")


def schema_of(kind: object, what: str) -> Schema:
    """Build the JSON schema of a type. References are inlined unless the type is recursive.

    `what` names the subject in the error. Raises UserError `invalid_schema`.
    """
    definitions: Schema = {}

    def foreign(custom: type) -> Schema:
        name = custom.__name__
        if custom is object:
            return {"description": "Any JSON value."}
        if not is_pydantic(custom):
            raise TypeError(f"{name} is not supported")
        # Two models may define different types of the same name: the prefix keeps them apart.
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
    """Convert a JSON value to the type. Raises ValueError with a message for the model."""

    def foreign(custom: type, raw: object) -> object:
        return custom.model_validate(raw) if is_pydantic(custom) else raw

    return msgspec.convert(value, cast("type[object]", kind), dec_hook=foreign, str_keys=True)


def to_json(value: object) -> Json:
    """Convert a value to plain JSON. Raises TypeError if it cannot be serialised."""

    def foreign(raw: object) -> Json:
        if is_pydantic(type(raw)):
            return cast(_PydanticModel, raw).model_dump(mode="json")
        raise TypeError(f"objects of type {type(raw).__name__} cannot be serialised as JSON")

    return msgspec.to_builtins(_plain(value), enc_hook=foreign)


def _plain(value: object) -> object:
    """Convert dataclasses to dicts: msgspec reads `__dict__`, which lacks defaults stored on the class."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name)) for part in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Iterable[object]", value)]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[object, object]", value).items()}
    return value


class Validator:
    """A compiled schema. Calling it with a value returns the first problem, or None."""

    def __init__(self, schema: Schema, cost: SchemaCost | None = None, size_bytes: int = 0) -> None:
        self._cost = cost
        self._patterns = Patterns()
        self._schema = schema if cost is None else cast(Schema, rewritten(schema, self._patterns.take))
        self._is_valid = self._compile(self._schema).is_valid
        self.left_out = self._patterns.left_out
        """The patterns that are not checked."""
        self.size_bytes = size_bytes + self._patterns.size_bytes
        """About how much memory it takes."""

    def __call__(self, value: Json) -> str | None:
        """Return the first problem of a value, or None."""
        import jsonschema_rs

        if self._cost is not None and not self._cost.is_affordable(value):
            return _TOO_LARGE
        self._patterns.start()
        problem_text = None
        if not self._is_valid(value) and not self._patterns.is_over:
            problem_text = "it is not what the schema says"
            try:
                self._explainer.validate(value)  # stops at the first problem
            except jsonschema_rs.ValidationError as problem:
                where = "/".join(str(step) for step in problem.instance_path)
                problem_text = _shortened(problem.message) + (f" (at {where})" if where else "")
        return _TOO_LARGE if self._patterns.is_over else problem_text

    @cached_property
    def _explainer(self) -> "jsonschema_rs.Validator":
        """The same schema, compiled so that it does not collect the errors of every alternative."""
        return self._compile(cast(Schema, rewritten(self._schema, _without_reasons)))

    def _compile(self, schema: Schema) -> "jsonschema_rs.Validator":
        import jsonschema_rs

        if self._cost is None:
            return jsonschema_rs.validator_for(schema, retriever=_refuse)
        return jsonschema_rs.validator_for(
            schema,
            retriever=_refuse,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=SMALL_BYTES),
            keywords={KEYWORD: self._patterns.keyword},
        )


def validator(schema: Mapping[str, Json], what: str, *, is_trusted: bool = False) -> Validator:
    """Compile a JSON schema. Untrusted schemas are bounded in cost, and their validators are cached.

    Raises UserError `invalid_schema` if the schema is invalid or too expensive.
    """
    with _refused(what):
        return Validator(dict(schema)) if is_trusted else _compiled(msgspec.json.encode(schema))


def _compile(encoded: bytes) -> Validator:
    if len(encoded) > MAX_SCHEMA_BYTES or count_parts(encoded) > _MAX_PARTS:
        raise ValueError(f"it has more than {MAX_SCHEMA_BYTES} bytes, or {_MAX_PARTS} objects and lists")
    schema = cast(Schema, msgspec.json.decode(encoded))
    cost = SchemaCost(schema)
    if not cost.is_bounded():
        raise ValueError("its references multiply: refer to fewer parts, or less often")
    return Validator(schema, cost, len(encoded) + count_parts(encoded) * _PART_BYTES)


_compiled = WeighedCache(_compile, lambda made: made.size_bytes, _KEPT_BYTES)


def count_parts(encoded: bytes) -> int:
    """Return an upper bound on the number of objects and lists in encoded JSON."""
    return encoded.count(b"{") + encoded.count(b"[")


def check_schema(schema: Mapping[str, Json], what: str) -> None:
    """Check that a JSON schema is valid, ignoring its patterns. Raises UserError `invalid_schema`."""
    with _refused(what):
        Validator(cast(Schema, rewritten(schema, _without_patterns)))


@contextmanager
def _refused(what: str) -> Generator[None]:
    import jsonschema_rs

    try:
        yield
    except (
        *(jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError),
        *(ValueError, TypeError, RecursionError),
    ) as error:
        first_line = str(error).partition("\n")[0]
        raise UserError("invalid_schema", f"{what} cannot be used as a JSON schema: {first_line}.") from error


def rewritten(schema: Json, change: Callable[[Schema], Schema]) -> Json:
    """Return a copy of a schema with `change` applied to every subschema, innermost first."""
    if isinstance(schema, list):
        return [rewritten(part, change) for part in cast("list[Json]", schema)]
    if not isinstance(schema, dict):
        return schema
    copy: Schema = {}
    for key, value in cast(Schema, schema).items():
        if key in _PARTS_BY_NAME and isinstance(value, dict):
            copy[key] = {name: rewritten(part, change) for name, part in cast(Schema, value).items()}
        else:
            copy[key] = value if key in _VALUES else rewritten(value, change)
    return change(copy)


def _without_patterns(part: Schema) -> Schema:
    part.pop("pattern", None)
    part.pop("patternProperties", None)
    return part


def _without_reasons(part: Schema) -> Schema:
    """Rewrite alternatives so that only the place of the mismatch is reported, not the errors of each alternative."""
    for key in ("anyOf", "oneOf"):
        if key in part:
            rule: Schema = {"if": {key: part.pop(key)}, "else": {"const": f"one of the alternatives ({key})"}}
            part["allOf"] = [*cast("list[Json]", part.get("allOf", [])), rule]
    return part


def _shortened(text: str) -> str:
    """Omit the middle of a long message: its end states the problem."""
    half = _PROBLEM_CHARS // 2
    return text if len(text) <= _PROBLEM_CHARS else f"{text[:half]} ... {text[-half:]}"


def _refuse(uri: str) -> NoReturn:
    """Refuse external references: an untrusted schema must not read files or URLs."""
    raise ValueError(f"{uri} is outside the schema: put what it refers to into $defs")


class OutputType:
    """The required type of a final answer: a Python type, or a JSON schema as a dict."""

    def __init__(self, kind: object, *, is_trusted: bool = True) -> None:
        self._kind: object | None = None
        if isinstance(kind, dict):
            self.schema = cast(Schema, kind)
            self._check = validator(self.schema, "output_type", is_trusted=is_trusted)
            title = self.schema.get("title")
            self.name = title if isinstance(title, str) and title.isidentifier() else "output"
        else:
            self._kind = kind
            self.schema = schema_of(kind, "output_type")
            self._check = None
            self.name = getattr(kind, "__name__", "output")

    def parse(self, text: str) -> object:
        """Parse the model's text into a value of the type. Raises ValueError that states the problem."""
        try:
            value = cast(Json, msgspec.json.decode(_unfenced(text)))
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None
        return self.accept(value)

    def accept(self, value: Json) -> object:
        """Convert a JSON value to the type. Raises ValueError that states the problem."""
        if self._check is not None:
            if problem := self._check(value):
                raise ValueError(problem)
            return value
        return convert(value, self._kind)


def _unfenced(text: str) -> str:
    """Strip a markdown fence around JSON, which models without structured output often add."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        return stripped.removesuffix("```").partition("\n")[2]
    return stripped
