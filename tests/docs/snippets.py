"""Runs the Python blocks of a page in order, in one namespace, `await` allowed at the top level."""

import ast
import asyncio
import inspect
from collections.abc import Coroutine
from contextlib import redirect_stdout
from io import StringIO
from types import CodeType
from typing import cast

from tests.support.pages import Block

NOT_RUN = "needs "
"""How the mark of a block begins that is compiled only, because it needs what is not here."""
OUTPUT = "prints"
"""The mark of a text block that is what the Python block before it prints."""


def run_page(blocks: list[Block]) -> None:
    """Run the Python blocks of a page; compare what they print with the blocks that say what they print."""
    names: dict[str, object] = {"__name__": "__page__"}
    printed = ""
    with asyncio.Runner() as loop:
        for block in blocks:
            if block.language == "python":
                printed = _run(block, names, loop)
            elif block.mark == OUTPUT:
                assert printed == block.code, f"{block.place}: the block before it prints\n{printed}"


def _run(block: Block, names: dict[str, object], loop: asyncio.Runner) -> str:
    code = _compile(block)
    if block.mark.startswith(NOT_RUN):
        return ""
    printed = StringIO()
    with redirect_stdout(printed):
        if code.co_flags & inspect.CO_COROUTINE:
            work = cast("Coroutine[object, object, None]", eval(code, names))
            loop.run(asyncio.wait_for(work, 60))
        else:
            exec(code, names)
    return printed.getvalue()


def _compile(block: Block) -> CodeType:
    # The empty lines make a traceback name the line of the page.
    source = "\n" * block.line + block.code
    code = compile(source, block.place.partition(":")[0], "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return cast(CodeType, code)
