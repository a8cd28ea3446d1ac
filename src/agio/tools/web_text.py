"""Converts a web response to text for a model: decodes any charset, strips HTML markup."""

import html
import re

from agio.egress import EgressResponse

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_KNOWN_CHARSET = re.compile(
    r"(utf-?(8|16|32)(-?[bl]e)?|(us-)?ascii|iso-?8859-\d+|latin-?\d+|(windows|cp)-?\d+|koi8-[rtu]"
    r"|shift_?jis|euc-(jp|kr)|iso-2022-(jp|kr)|gb(2312|k|18030)|big5(hkscs)?|mac-?roman)",
    re.IGNORECASE,
)
"""Allowed charsets: Python has other codecs that are not web charsets."""
_TEXT = re.compile(r"text/|application/(.*\+)?(json|xml|yaml|toml|javascript|x-www-form-urlencoded)$")
_HIDDEN = ("script", "style", "noscript", "template", "svg", "iframe", "textarea", "select", "head")
_BREAKS = {
    *(
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "dd",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figure",
        "footer",
    ),
    *("form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre"),
    *("section", "table", "title", "tr", "ul"),
}
_TAG = re.compile(r"/?([a-z][a-z0-9-]*)")


def content_type(response: EgressResponse) -> str:
    """Return the media type of a response, in lower case and without parameters."""
    return (response.header("content-type") or "").partition(";")[0].strip().lower()


def text_of(response: EgressResponse) -> str | None:
    """Return a response as text; None if it is binary."""
    kind = content_type(response)
    if kind and not _TEXT.match(kind):
        return None
    found = _CHARSET.search(response.header("content-type") or "")
    charset = found[1] if found and _KNOWN_CHARSET.fullmatch(found[1]) else "utf-8"
    if not kind and b"\0" in response.body:
        return None
    try:
        return response.body.decode(charset, errors="replace").removeprefix("\ufeff")
    except LookupError:
        return response.body.decode(errors="replace").removeprefix("\ufeff")


def describe_binary(response: EgressResponse) -> str:
    """Describe a response that cannot be shown as text."""
    return f"({content_type(response) or 'data of no stated type'}, {len(response.body)} bytes: not text)"


def text_of_page(page: str) -> str:
    """Return roughly the visible text of an HTML page: its title, then its text.

    It runs in linear time, also for malformed pages.
    """
    lower = page.lower() if len(page.lower()) == len(page) else page
    pieces: list[str] = []
    at = 0
    while (tag := page.find("<", at)) >= 0:
        pieces.append(page[at:tag])
        if page.startswith("<!--", tag):
            at = _after(page, "-->", tag + 4)
            continue
        found = _TAG.match(lower, tag + 1)
        if found is None and not page.startswith(("<!", "<?", "</"), tag):
            pieces.append("<")
            at = tag + 1
            continue
        at = _after(page, ">", tag)
        name = found[1] if found else ""
        if name in _BREAKS:
            pieces.append("\n")
        if name in _HIDDEN and lower[tag + 1] != "/":
            if name == "head":
                pieces.append(_title(lower, page, at))
            at = _after(page, ">", _find(lower, f"</{name}", at))
    pieces.append(page[at:])
    lines = (" ".join(line.split()) for line in html.unescape("".join(pieces)).split("\n"))
    return "\n".join(line for line in lines if line)


def _title(lower: str, page: str, at: int) -> str:
    end = _find(lower, "</head", at)
    begin = lower.find("<title", at, end)
    if begin < 0:
        return ""
    begin = _after(page, ">", begin)
    return page[begin : _find(lower, "</title", begin)] + "\n"


def _find(text: str, what: str, at: int) -> int:
    found = text.find(what, at)
    return len(text) if found < 0 else found


def _after(text: str, what: str, at: int) -> int:
    found = text.find(what, at)
    return len(text) if found < 0 else found + len(what)
