"""Reading pages for a model."""

import time

import pytest

from agio.core.config import AgentRunConfig
from agio.core.tool import ToolAnswer, ToolContext
from agio.egress import Egress
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.messages import FunctionCall, ToolCall
from agio.tools.fetch import make_fetch_tool
from agio.tools.web_text import text_of_page
from tests.support.canary import answer_with, canary, redirect

PAGE = """<!doctype html><html><head><title>The &amp; title</title><style>p{color:red}</style></head>
<body><!-- hidden <p>no</p> --><h1>Head<b>line</b></h1><script>if (1 < 2) evil("</p>")</script>
<p>One   two<br>three &lt;b&gt; &uuml;</p><ul><li>a<li>b</ul><SCRIPT>x</SCRIPT><svg><text>no</text></svg>
<noscript>no</noscript>1 < 2 <textarea>no</textarea><a href="x>y">link</a></body></html>"""


def test_a_page_is_what_its_reader_sees() -> None:
    """S4: the title and the text, a line a block, without what is not shown."""
    assert text_of_page(PAGE) == ('The & title\nHeadline\nOne two\nthree <b> \u00fc\na\nb\n1 < 2 y">link')


@pytest.mark.parametrize(
    "page",
    [
        *(
            "",
            "<",
            "<>",
            "</",
            "<!",
            "<!--",
            "<script",
            "<script>",
            "<script></script",
            "<head><title>",
            "<p",
            "&#x;",
        ),
        *("<head>", "<head><title>x", "a<b", "a < b", "<?xml", "<![CDATA[x]]>", "\u0130<p>x</p>"),
    ],
)
def test_a_broken_page_is_no_trouble(page: str) -> None:
    """S4: whatever it is, it has some text, or none."""
    assert "evil" not in text_of_page(page)


@pytest.mark.parametrize(
    "piece", ["<", "<!", "<!--", "<a ", "<script>", "</", "&", "&#", "<p>", "<head><title>", "<svg"]
)
def test_no_page_takes_long(piece: str) -> None:
    """S4: a megabyte of anything is read in one go."""
    began = time.process_time()
    text_of_page(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 5


async def fetch(url: str, *allow: str) -> ToolAnswer:
    executor = ToolExecutor([make_fetch_tool(Egress(allow))], AgentRunConfig())
    context = ToolContext(
        tenant="t", user="u", project=None, session="s", run="r", call_id="c", report=lambda _: None
    )
    return await executor.call(ToolCall("c", FunctionCall("fetch_url", "")), context, arguments={"url": url})


async def test_a_page_is_fetched_and_said_where_from() -> None:
    """S4: after its redirects, in its charset; other text as it is, other things described."""
    async with canary() as bird:
        allow = f"127.0.0.1:{bird.port}"
        bird.answers["/page"] = answer_with(PAGE.encode(), kind="text/html; charset=utf-8")
        bird.answers["/old"] = redirect("/page", 301)
        bird.answers["/text"] = answer_with(b"<b>as it is</b>")
        bird.answers["/image"] = answer_with(b"\x89PNG", kind="image/png")
        bird.answers["/gone"] = answer_with(b"<h1>Gone</h1>", status=410, kind="text/html")
        answer = await fetch(f"{bird.url}/old", allow)
        assert str(answer.content).startswith(f"{bird.url}/page\n\nThe & title\nHeadline")
        assert (await fetch(f"{bird.url}/text", allow)).content == f"{bird.url}/text\n\n<b>as it is</b>"
        assert "(image/png, 4 bytes: not text)" in str((await fetch(f"{bird.url}/image", allow)).content)
        gone = await fetch(f"{bird.url}/gone", allow)
        assert (gone.error, gone.content) == ("upstream_error", f"{bird.url}/gone answered 410: Gone")


async def test_what_is_not_public_is_not_fetched() -> None:
    """S4: the model is told why, and nobody is called."""
    async with canary() as bird:
        answer = await fetch(bird.url)
        assert answer.error == "egress_refused"
        assert bird.connections == 0
