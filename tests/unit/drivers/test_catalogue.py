"""The lists of models that services have: read in every vendor's form, whatever else they hold."""

import asyncio

import msgspec
import pytest

from agio.core.model import ModelLister
from agio.drivers.catalogue import LIST_BYTES, MAX_NAMES
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver
from agio.egress import Egress
from agio.errors import ModelError, UserError
from agio.testing import ModelServer

KEY = "sk-very-secret-1234"
WIRES = ("openai", "openai-chat", "anthropic", "gemini")
NAMES = ["small", "vendor/large:8b", "Größe"]


async def list_at(endpoint: Endpoint, wire: str = "openai-chat") -> list[str]:
    driver = open_driver(wire, endpoint)
    assert isinstance(driver, ModelLister)
    try:
        async with asyncio.timeout(60):
            return await driver.models()
    finally:
        await driver.aclose()


async def list_from(answer: bytes, wire: str = "openai-chat") -> list[str]:
    """Read the list of a server that answers any request with these bytes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return await list_at(Endpoint(address, KEY), wire)


def document(value: object, *, status: int = 200) -> bytes:
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        status,
        len(body),
        body,
    )


def listing(*names: object) -> bytes:
    return document({"data": [{"id": name} for name in names]})


@pytest.mark.parametrize("wire", WIRES)
async def test_every_vendors_list_is_read(wire: str) -> None:
    """R12: with the key, in the service's order; what cannot converse is left out where the vendor says so."""
    async with ModelServer(models=NAMES) as server:
        assert await list_at(server.endpoint(wire), wire) == NAMES
        [asked] = server.lists
        assert asked.method == "GET"
        assert asked.body == b""
        assert server.calls == []
        server.models = []
        assert await list_at(server.endpoint(wire), wire) == []


@pytest.mark.parametrize("wire", WIRES)
async def test_a_service_without_a_list_or_with_another_key_says_so(wire: str) -> None:
    """R12: with the codes that a model's refusals have."""
    async with ModelServer() as server:
        with pytest.raises(ModelError) as nothing:
            await list_at(server.endpoint(wire), wire)
        assert nothing.value.code == "model_not_found"
        server.models = NAMES
        with pytest.raises(ModelError) as refused:
            await list_at(Endpoint(server.base_url(wire), KEY), wire)
        assert refused.value.code == "invalid_api_key"
        assert KEY not in str(refused.value)


async def test_a_list_is_asked_for_through_the_guard() -> None:
    """R12: an address that is not public is not called for its list either."""
    async with ModelServer(models=NAMES) as server:
        closed = Endpoint(server.base_url("openai-chat"), "test-key", guard=Egress())
        with pytest.raises(UserError) as refused:
            await list_at(closed)
        assert refused.value.code == "egress_refused"
        assert server.connections == 0
        opened = Endpoint(server.base_url("openai-chat"), "test-key", guard=Egress(["127.0.0.1"]))
        assert await list_at(opened) == NAMES


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (listing("b", "a", "b", " a "), ["b", "a"]),
        (listing("<b>x</b>", "a"), ["<b>x</b>", "a"]),
        (listing("a\x00b", "a\nb", "a\u202eb", "\u200b", "é", "", "  "), ["é"]),
        (listing(7, None, True, ["x"], {"y": 1}, "a"), ["a"]),
        (listing("x" * 201, "y" * 200), ["y" * 200]),
        (listing(KEY, f"models/{KEY}", "a"), ["a"]),
        (document({"data": ["a", None, 5, ["x"], {"name": "b"}, {"id": "c"}]}), ["c"]),
        (document({"object": "list", "data": None}), []),
        (document([{"id": "together"}]), ["together"]),
    ],
    ids=range(9),
)
async def test_only_names_are_taken_from_a_list(answer: bytes, names: list[str]) -> None:
    """R12: each once, printable, of a sane length, and never the key."""
    assert await list_from(answer) == names


@pytest.mark.parametrize(
    "answer",
    [
        document(b""),
        document(b"<!doctype html><h1>Welcome</h1>"),
        document(b"[" * 100_000),
        document(b'{"data": [{"id": "a"'),
        document(b'{"data": [{"id": "\xff\xfe"}]}'),
        document({}),
        document("text"),
        document(5),
        document({"data": {"id": "a"}}),
        document({"data": "a"}),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        document(b'{"data":[]}' + b" " * LIST_BYTES),
    ],
    ids=range(12),
)
async def test_what_is_no_list_is_an_error_of_the_service(answer: bytes) -> None:
    """R12: not read any further than it may be long."""
    with pytest.raises(ModelError) as refused:
        await list_from(answer)
    assert refused.value.code in ("invalid_response", "stream_broken")


async def test_a_list_is_not_followed_elsewhere() -> None:
    """R12: the key goes to the address it was entered for, and no other."""
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/models\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(ModelError) as refused:
        await list_from(moved)
    assert refused.value.code == "bad_request"


async def test_a_list_of_a_megabyte_is_cut_short() -> None:
    """R12: the first names are kept, and no more than fit on a page."""
    long = listing(*(f"model-{at:06}" for at in range(50_000)))
    assert 1_000_000 < len(long) < LIST_BYTES
    assert await list_from(long) == [f"model-{at:06}" for at in range(MAX_NAMES)]
