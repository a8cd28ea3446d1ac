"""Writes docs/errors.md from the catalogue of codes: `python -m tests.docs.errors --write`."""

import sys

from agio.cli.commands.explain import Section, load_catalogue
from agio.core.config import AgentRunConfig
from agio.errors import AgioError, LimitExceeded, ModelError, StoreError, ToolError, UserError
from agio.gateway.http.errors import status_of
from tests.support.pages import ROOT

PAGE = ROOT / "docs" / "errors.md"
KINDS: dict[str, type[AgioError]] = {
    "the model": ModelError,
    "limits": LimitExceeded,
    "the store": StoreError,
    "a server's runs": ToolError,
    "agio itself": AgioError,
}
"""The class of a section's errors, where it is not UserError: it decides the status over HTTP."""
WITHOUT_STATUS = ("tool results", "notices", "the command line", "a server's runs")
_OPENING = """\
# Error codes

`code` is stable; `message` is for people and may change. A code is raised (an `AgioError` with `.code`), ends a run
(RUN_ERROR, `result.error`), is reported while the run continues (`agio.error`), or refuses a request to a server:
`{"error": {"code", "message", "details"}}` with the status below, or a reply with `type: error` over the WebSocket.
A tool that raises `ToolError(code, message)` ends its run with its own code. On the command line,
`agio explain CODE` prints the entry of this page.
"""


def render() -> str:
    """Return the page."""
    parts = [_OPENING, *(_render_section(title, section) for title, section in load_catalogue().items())]
    return "\n".join(parts)


def _render_section(title: str, section: Section) -> str:
    retries = AgentRunConfig().retries if title == "the model" else None
    kind = KINDS.get(title, UserError)
    columns = ["code"]
    if retries is not None:
        columns.append("retries")
    if title not in WITHOUT_STATUS:
        columns.append("status")
    columns += ["meaning", "what to do"]
    rows: list[list[str]] = []
    for code in section.codes.values():
        row = [f"`{code.name}`"]
        if retries is not None:
            row.append(str(retries.get(code.name, "")))
        if title not in WITHOUT_STATUS:
            row.append(str(status_of(kind(code.name, ""))))
        rows.append([*row, code.meaning, code.remedy])
    table = [columns, ["---"] * len(columns), *rows]
    lines = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in table]
    return "\n".join(
        [f"## Codes of {title}", "", *([section.about, ""] if section.about else []), *lines, ""]
    )


def main() -> None:
    """Check that the page is current, or write it."""
    page = render()
    if "--write" in sys.argv:
        PAGE.write_text(page, "utf-8")
    elif page != PAGE.read_text("utf-8"):
        sys.exit("docs/errors.md is not current: run python -m tests.docs.errors --write")


if __name__ == "__main__":
    main()
