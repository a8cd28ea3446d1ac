"""The tool `fetch_url`: reads a web page through the egress guard."""

from agio.core.tool import AnyTool, ToolAnswer, tool
from agio.egress import Egress, EgressRequest
from agio.tools.web_text import content_type, describe_binary, text_of, text_of_page

_PAGE = ("text/html", "application/xhtml+xml")
_ERROR_CHARS = 2000
_HEADERS = [
    ("Accept", "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.1"),
    ("User-Agent", "agio"),
]


def make_fetch_tool(egress: Egress) -> AnyTool:
    """Make the tool `fetch_url` on this guard."""

    @tool(effect="read", timeout_s=40)
    async def fetch_url(url: str) -> ToolAnswer:
        """Read a public web page or file and return its text.

        Args:
            url: A complete http or https URL.
        """
        response = await egress.request(EgressRequest("GET", url, _HEADERS))
        text = text_of(response)
        if text is None:
            text = describe_binary(response)
        elif content_type(response) in _PAGE:
            text = text_of_page(text)
        if response.status >= 400:
            return ToolAnswer(
                f"{response.url} answered {response.status}: {text[:_ERROR_CHARS]}", "upstream_error"
            )
        return ToolAnswer(f"{response.url}\n\n{text}")

    return fetch_url
