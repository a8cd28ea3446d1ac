"""docs/server.md against a real server: its commands run in order and print what the page says."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

from tests.support.pages import ROOT, Block, blocks_of
from tests.support.process import KEY, Server

PAGE = ROOT / "docs" / "server.md"
DOCUMENTED_URL = "http://127.0.0.1:8700"
ANSWER = "answers"
"""The mark of a text block that is what the commands before it print."""
BETWEEN = "=== the next block ==="
_ID = re.compile(r"\b([a-z]{3,4})_[0-9a-z]{26}")
_TIME = re.compile(r"\b1\d{12}\b")


def _scripts() -> list[tuple[Block, Block | None]]:
    """The blocks that ask the server, each with the block that says what comes back, if there is one."""
    found: list[tuple[Block, Block | None]] = []
    for block in blocks_of(PAGE, "sh", "json", "text"):
        if block.language == "sh" and "curl" in block.code:
            found.append((block, None))
        elif found and (block.language == "json" or block.mark == ANSWER):
            found[-1] = (found[-1][0], block)
    return found


def run_script(script: str, server: Server, folder: Path) -> str:
    """Run a script in bash as a person who has the key, and return what it prints."""
    done = subprocess.run(
        ["bash", "-c", script.replace(DOCUMENTED_URL, server.url)],
        cwd=folder,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "AGIO_API_KEY": KEY},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


def test_the_three_requests_of_the_readme_work(tmp_path: Path) -> None:
    """L15, L16, B8: an agent, a run over AG-UI, and its record, with three curls."""
    (block,) = [block for block in blocks_of(ROOT / "README.md", "sh") if "curl" in block.code]
    with Server(tmp_path) as server:
        made, *frames, listed = (
            run_script(block.code, server, tmp_path).replace("}id: 1", "}\nid: 1", 1).splitlines()
        )
    assert json.loads(made)["name"] == "greeter"
    assert any('"RUN_FINISHED"' in frame for frame in frames)
    assert json.loads(listed)["items"][0]["status"] == "completed"


def test_the_commands_of_the_page_print_what_it_says(tmp_path: Path) -> None:
    """L16, C2, C5, B7, B8: every endpoint with curl, in one shell, against a fresh server."""
    scripts = _scripts()
    whole = f"\necho\necho '{BETWEEN}'\n".join(script.code for script, _ in scripts)
    # A pipe's reader that has seen enough is noticed at the next comment of the stream.
    with Server(tmp_path, environment={"AGIO_LIMITS": '{"keep_alive_s": 0.2}'}) as server:
        output = run_script(whole, server, tmp_path)
    printed = output.split(f"{BETWEEN}\n")
    wrong = [
        f"{script.place} prints\n{output}"
        for (script, said), output in zip(scripts, printed, strict=True)
        if said is not None and not is_said(said, output)
    ]
    assert wrong == [], "\n".join(wrong)


def is_said(said: Block, output: str) -> bool:
    """Whether commands printed what a page says they do."""
    if said.language == "json":
        return _fits(json.loads(said.code), json.loads(output))
    wanted = re.escape(_plain(said.code.rstrip("\n"))).replace(re.escape('"..."'), '"[^"]*"')
    return re.fullmatch(wanted, _plain(output.rstrip("\n"))) is not None


def _plain(text: str) -> str:
    return _TIME.sub("TIME", _ID.sub(r"\1_ID", text))


def _fits(said: object, given: object) -> bool:
    """Whether an answer is what the page says, ids and times aside; `...` stands for anything."""
    match said, given:
        case "...", _:
            return True
        case dict(), dict():
            wanted, found = cast("dict[str, object]", said), cast("dict[str, object]", given)
            return wanted.keys() == found.keys() and all(_fits(wanted[key], found[key]) for key in wanted)
        case list(), list():
            entries, others = cast("list[object]", said), cast("list[object]", given)
            return len(entries) == len(others) and all(map(_fits, entries, others))
        case _:
            return _plain(json.dumps(said)) == _plain(json.dumps(given))
