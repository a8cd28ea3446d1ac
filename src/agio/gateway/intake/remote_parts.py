"""Addresses in messages. agio does not fetch them, but a model server in the operator's network may."""

from collections.abc import Iterator, Sequence

from agio.egress import Egress, parse_target
from agio.egress.target import refused
from agio.protocol.messages import Message, TextPart, ToolMessage, UrlSource, UserMessage

_HANDLES = "generativelanguage.googleapis.com"
"""Where Gemini keeps uploads: with the operator's key such an address would open any upload."""


async def check_addresses(egress: Egress, messages: Sequence[Message]) -> None:
    """Refuse a URL whose text shows that it is not a public http(s) address.

    Raises UserError `egress_refused`.
    """
    for url in dict.fromkeys(_urls(messages)):
        if url[:5].lower() == "data:":
            continue
        target = parse_target(url)
        if target.host == _HANDLES:
            raise refused("it is a file at a model's provider: upload it here")
        if target.address is not None or target.host.rpartition(".")[2] == "localhost":
            await egress.addresses(target.host, target.port)


def _urls(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if isinstance(message, (UserMessage, ToolMessage)) and not isinstance(message.content, str):
            for part in message.content:
                if not isinstance(part, TextPart) and isinstance(part.source, UrlSource):
                    yield part.source.value
