"""The wire types against the wire text of tests/wire and against `ag_ui`."""

import inspect
import json
from collections import defaultdict

import ag_ui.core
import msgspec
import pytest
from ag_ui._generated import models
from msgspec import UNSET
from pydantic import BaseModel

from agio.protocol.codec import decode_event, encode
from tests.support.wire_examples import OURS, THEIRS, Example, read_examples, struct_pairs, structs_in

EXAMPLES = read_examples()
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=[f"{e.file}: {e.name}" for e in EXAMPLES])


def decode_ours(example: Example, text: bytes) -> object:
    return msgspec.json.decode(text, type=OURS[example.file])


def dump_theirs(example: Example, value: object) -> bytes:
    return THEIRS[example.file].dump_json(value, by_alias=True)


@each_example
def test_wire_text_survives_our_types(example: Example) -> None:
    """R8: what is decoded is encoded again to the same JSON."""
    text = json.dumps(example.wire).encode()
    assert json.loads(encode(decode_ours(example, text))) == example.wire


@each_example
def test_ours_to_theirs_and_back_is_the_same_value(example: Example) -> None:
    """R8: the official Python models read what we write, and we read what they write of it."""
    ours = decode_ours(example, json.dumps(example.wire).encode())
    theirs = THEIRS[example.file].validate_json(encode(ours))
    written = dump_theirs(example, theirs)
    assert json.loads(written) == example.wire
    assert decode_ours(example, written) == ours


@each_example
def test_theirs_to_ours_and_back_is_the_same_value(example: Example) -> None:
    """R8: we read what the official Python models write, and they read what we write of it."""
    theirs = THEIRS[example.file].validate_python(example.wire)
    ours = decode_ours(example, dump_theirs(example, theirs))
    assert THEIRS[example.file].validate_json(encode(ours)) == theirs


def test_there_are_examples_of_all_31_types() -> None:
    """R8: the events are those of AG-UI 1.0, no more and no fewer."""
    official = {member.value for member in ag_ui.core.EventType}
    decoded = [decode_event(json.dumps(e.wire)) for e in EXAMPLES if e.file == "events"]
    assert len(official) == 31
    assert {event.type for event in decoded} == official


def test_every_official_model_has_a_struct_of_ours() -> None:
    """L1: nothing of AG-UI 1.0 is left out."""
    abstract = {models.GeneratedBaseModel, models.Attributable, models.BaseEvent, models.BaseMessage}
    official = {
        model
        for _, model in inspect.getmembers(models, inspect.isclass)
        if issubclass(model, BaseModel) and model.__module__ == models.__name__
    }
    assert set(struct_pairs().values()) == official - abstract


@pytest.mark.parametrize(("ours", "theirs"), struct_pairs().items(), ids=lambda cls: cls.__name__)
def test_every_field_exists_on_both_sides(ours: type[msgspec.Struct], theirs: type[BaseModel]) -> None:
    """R8: fields have the names of AG-UI 1.0, and are required where it requires them."""
    required = {field.encode_name: field.required for field in msgspec.structs.fields(ours)}
    tag = ours.__struct_config__.tag_field
    if tag is not None:
        required[tag] = False
    assert required == {f.alias: f.is_required() for f in theirs.model_fields.values()}


def test_every_optional_field_is_in_an_example_and_refuses_null() -> None:
    """R8: an optional field is absent, never null, in every struct; only an input's state may be null."""
    instances: dict[type[msgspec.Struct], list[msgspec.Struct]] = defaultdict(list)
    for example in EXAMPLES:
        for struct in structs_in(decode_ours(example, json.dumps(example.wire).encode())):
            instances[type(struct)].append(struct)
    assert instances.keys() == struct_pairs().keys()
    for cls, found in instances.items():
        for field in msgspec.structs.fields(cls):
            where = f"{cls.__name__}.{field.name}"
            assert any(getattr(struct, field.name) is not UNSET for struct in found), where
            if field.default is not UNSET or where == "RunAgentInput.state":
                continue
            wire = {**json.loads(encode(found[0])), field.encode_name: None}
            with pytest.raises(msgspec.ValidationError, match="null"):
                msgspec.json.decode(json.dumps(wire), type=cls)


@pytest.mark.parametrize(
    "change",
    [
        {"timestamp": 2**53},
        {"timestamp": 1.5},
        {"outcome": {"type": "interrupt", "interrupts": []}},
        {"outcome": {"type": "paused"}},
        {"usage": [{"inputTokens": -1}]},
        {"runId": 7},
        {"metadata": []},
    ],
    ids=str,
)
def test_values_out_of_range_are_refused_by_ours_and_theirs(change: dict[str, object]) -> None:
    """R8: values AG-UI 1.0 forbids do not decode."""
    wire = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **change}
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(wire), type=OURS["events"])
    with pytest.raises(ValueError, match="validation error"):
        THEIRS["events"].validate_python(wire)


@pytest.mark.parametrize("path", ["a", "/a~2", "/~", "a/b"])
def test_a_patch_with_a_wrong_pointer_is_refused_by_ours_and_theirs(path: str) -> None:
    """R8: a path of a patch is a JSON pointer."""
    wire = {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": path}]}
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(wire), type=OURS["events"])
    with pytest.raises(ValueError, match="validation error"):
        THEIRS["events"].validate_python(wire)
