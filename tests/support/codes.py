"""Every stable code that the source of agio can say, found by reading it."""

import ast
import re
from collections.abc import Iterator
from typing import get_args

from agio.core.model import StopReason
from tests.support.pages import ROOT

SOURCE = ROOT / "src" / "agio"
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")
_ERRORS = {
    "AgioError",
    "UserError",
    "ModelError",
    "ToolError",
    "UpstreamError",
    "ExportError",
    "StoreError",
    "BusError",
    "LimitExceeded",
}
_HEALTHY = ("end", "tool_calls")


def error_codes() -> set[str]:
    """Return the codes of errors: given to an error's class, to `faults.make`, or chosen into a variable `code`."""
    return {code for tree in _trees() for node in ast.walk(tree) for code in _error_codes(node)}


def result_codes() -> set[str]:
    """Return the codes of tool results: the second argument of a ToolAnswer, or what it falls back to."""
    return {code for tree in _trees() for node in ast.walk(tree) for code in _result_codes(node)}


def notice_codes() -> set[str]:
    """Return the codes of notices: what the prompt leaves out, how a turn may stop, and those that are emitted."""
    tree = ast.parse((SOURCE / "core" / "engine" / "context.py").read_text())
    pairs = [node for node in ast.walk(tree) if isinstance(node, ast.Tuple) and len(node.elts) == 2]
    left_out = {
        code
        for pair in pairs
        if isinstance(pair.elts[1], ast.JoinedStr)
        for code in _strings(pair.elts[0])
        if "_" in code
    }
    said = {
        code
        for tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "notice"
        for code in _strings(node.args[0])
    }
    return left_out | said | {f"stopped_{stop}" for stop in get_args(StopReason) if stop not in _HEALTHY}


def _trees() -> Iterator[ast.Module]:
    for file in sorted(SOURCE.rglob("*.py")):
        if "testing" not in file.relative_to(SOURCE).parts:
            yield ast.parse(file.read_text(), str(file))


def _error_codes(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _ERRORS:
            yield from _strings(first)
        case ast.Call(func=ast.Attribute(attr="make"), args=[first, *_]):
            yield from _strings(first)
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"),
            args=[first, _, *_],
        ):
            yield from _strings(first)
        case ast.Dict(keys=[ast.Constant(value="code"), *_], values=[first, *_]):
            yield from _strings(first)
        case ast.Assign(targets=[ast.Name(id="_LEADS")], value=ast.Dict(keys=keys)):
            for key in keys:
                yield from _strings(key)
        case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant() as value):
            yield from _strings(value)
        case ast.Assign(
            targets=[ast.Name(id="code")], value=ast.IfExp(body=ast.Constant() as one, orelse=other)
        ):
            yield from (*_strings(one), *_strings(other))
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            for name, value in zip(names, values, strict=True):
                if isinstance(name, ast.Name) and name.id == "code":
                    yield from _strings(value)
        case _:
            pass


def _result_codes(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id="ToolAnswer"), args=[_, second]):
            yield from _strings(second)
        case ast.Assign(
            targets=[ast.Name(id="code")], value=ast.IfExp(body=ast.Attribute(attr="code"), orelse=value)
        ):
            yield from _strings(value)
        case _:
            pass


def _strings(node: ast.expr | None) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CODE.fullmatch(node.value):
        yield node.value
