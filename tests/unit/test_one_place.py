"""What the architecture says is done in one place is done in one place."""

import ast
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import agio

SOURCE = Path(agio.__file__).parent
TESTS = Path(__file__).parents[1]
SHARED = ("tests.support", "tests.checks")
"""What tests of every folder may import."""


@cache
def nodes() -> Sequence[tuple[str, ast.AST]]:
    """Every call and constant of the source, with its file. The model servers of `testing` speak other protocols."""
    return [
        (str(file.relative_to(SOURCE)), node)
        for file in sorted(SOURCE.rglob("*.py"))
        if not file.is_relative_to(SOURCE / "testing")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call | ast.Constant)
    ]


def calls_of(name: str) -> list[str]:
    """The files that call a function, a class or a method of this name, once for each call."""
    called = ((file, node.func) for file, node in nodes() if isinstance(node, ast.Call))
    return [
        file
        for file, func in called
        if getattr(func, "attr" if isinstance(func, ast.Attribute) else "id", None) == name
    ]


def test_the_first_and_last_event_of_a_run_are_built_in_one_module() -> None:
    """R8: the runner, the store and the gateway share the builders of RUN_STARTED, RUN_FINISHED, RUN_ERROR."""
    for event in ("RunStarted", "RunFinished", "RunError"):
        assert calls_of(event) == ["core/run/boundary.py"]


def test_one_function_accepts() -> None:
    """R3: every door sends its messages through the intake, which hashes, checks and commits them."""
    accepting = [
        file
        for file, node in nodes()
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("store.accept")
    ]
    assert accepting == ["gateway/intake/intake.py"]
    assert calls_of("digest_of") == ["gateway/intake/intake.py"]


def test_event_bytes_are_recognised_in_one_module() -> None:
    """R8: no other file knows how the line of an event begins."""
    knowing = {
        file
        for file, node in nodes()
        if isinstance(node, ast.Constant)
        and isinstance(node.value, bytes)
        and node.value.startswith(b'{"type":')
    }
    assert knowing == {"protocol/frames.py"}


def test_folders_of_tests_share_only_the_support_folder() -> None:
    """L16: a test imports tests.support, its own folder and the folders above it, never another folder's tests."""
    files = [file for file in TESTS.rglob("*.py") if "node_modules" not in file.parts]
    crossing = [
        f"{file.relative_to(TESTS)} imports {node.module}"
        for file in sorted(files)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith(("tests.", "web."))
        and not str(node.module).startswith(SHARED)
        and not _is_above(str(node.module), file)
    ]
    assert crossing == []


def _is_above(module: str, file: Path) -> bool:
    """Whether a module lies in the folder of a file, or in one above it below tests/."""
    place = TESTS.parent.joinpath(*module.split("."))
    folder = place if place.is_dir() else place.parent
    return folder != TESTS and file.is_relative_to(folder)
