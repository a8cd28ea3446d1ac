"""Untrusted text: delimited by a random mark that the text itself cannot contain."""

import re
from base64 import b64decode

from msgspec import structs

from agio.core.text import clean
from agio.protocol.messages import (
    Content,
    ContentPart,
    DataSource,
    DocumentPart,
    Message,
    PartSource,
    TextPart,
    ToolMessage,
    UserMessage,
)

_NO_BRACKETS = str.maketrans("<>", "  ")
_MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w.+-]+=[\w.+-]+)?", re.ASCII)
_TEXT_TYPE = re.compile("text/|application/(json|xml|yaml)")


class Delimiter:
    """Delimits untrusted text with the mark, and removes the mark from all other text."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def delimit(self, label: str, text: str) -> str:
        """Return the text as a labelled block between the mark's delimiters."""
        label = " ".join(self._unmarked(label).translate(_NO_BRACKETS).split())[:120]
        return f"<<untrusted {self.mark} {label}>>\n{self._unmarked(text)}\n<<end {self.mark}>>"

    def _unmarked(self, text: str) -> str:
        # The placeholder keeps the text around a removed mark from forming a new mark.
        return clean(text).replace(self.mark, "[mark]")

    def delimited(self, message: Message) -> Message:
        """Return a message that is safe for the prompt: tool output delimited, the mark removed from user text."""
        match message:
            case ToolMessage():
                return structs.replace(message, content=self._delimited_content(message.content))
            case UserMessage(content=str() as text):
                return structs.replace(message, content=self._unmarked(text))
            case UserMessage(content=list() as parts):
                kept = [
                    structs.replace(part, text=self._unmarked(part.text))
                    if isinstance(part, TextPart)
                    else part
                    for part in parts
                ]
                return structs.replace(message, content=kept)
            case _:
                return message

    def _delimited_content(self, content: Content) -> Content:
        if isinstance(content, str):
            return self.delimit("tool output", content)
        return [self._delimited_part(part) for part in content]

    def _delimited_part(self, part: ContentPart) -> ContentPart:
        if isinstance(part, TextPart):
            return structs.replace(part, text=self.delimit("tool output", part.text))
        source = part.source
        if isinstance(source.mime_type, str) and not _MIME_TYPE.fullmatch(source.mime_type):
            source = structs.replace(source, mime_type="application/octet-stream")
        if isinstance(part, DocumentPart) and (text := _document_text(source)) is not None:
            return TextPart(self.delimit("document from a tool", text))
        return structs.replace(part, source=source)


def _document_text(source: PartSource) -> str | None:
    """Return the text of a text document, which a driver may put into the prompt undelimited."""
    if not isinstance(source, DataSource) or not _TEXT_TYPE.match(source.mime_type):
        return None
    try:
        return b64decode(source.value).decode("utf-8", "replace")
    except ValueError:
        return ""
