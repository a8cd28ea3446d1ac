"""docs/traces.md against a real server: the collector of the page prints what the page says."""

import subprocess
import sys
from pathlib import Path

from tests.docs.test_server_page import is_said, run_script
from tests.support.pages import ROOT, blocks_of
from tests.support.ports import free_port
from tests.support.process import Server

PAGE = ROOT / "docs" / "traces.md"


def test_the_collector_of_the_page_prints_the_spans_of_a_run(tmp_path: Path) -> None:
    """R10, L16: the commands in order, and what comes back."""
    (collector,) = blocks_of(PAGE, "python")
    ask, change = blocks_of(PAGE, "sh")
    (printed,) = blocks_of(PAGE, "text")
    (answer,) = blocks_of(PAGE, "json")
    port = str(free_port())
    environment = {"OPENAI_TRACES_ENDPOINT": f"http://127.0.0.1:{port}/v1/traces/ingest"}
    code = collector.code.replace("4319", port)
    with subprocess.Popen([sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            with Server(tmp_path, environment=environment) as server:
                run_script(ask.code, server, tmp_path)
                out, _ = process.communicate(timeout=60)
                assert out.splitlines() == printed.code.splitlines()
                while '"waiting":0' not in (said := run_script(change.code, server, tmp_path)):
                    pass
                assert is_said(answer, said), said
        finally:
            process.kill()
