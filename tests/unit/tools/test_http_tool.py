"""HTTP tools of a team: from a model's arguments to a request, and from an answer to a result."""

import base64
import json
from collections.abc import Mapping
from typing import cast

import pytest
from msgspec.structs import replace

from agio.core.config import AgentRunConfig
from agio.core.http_tool import HttpHeader, HttpTool
from agio.core.store.repository import Effect
from agio.core.tool import ToolAnswer, ToolContext
from agio.egress import Egress
from agio.errors import UserError
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.messages import FunctionCall, Json, ToolCall
from agio.tools.http_tool import check_http_tool, make_http_tool
from tests.support.canary import Canary, answer_with, canary, redirect

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "n": {"type": "integer"},
        "q": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object"},
        "flag": {"type": ["boolean", "null"]},
    },
    "required": ["id"],
}
TOOL = HttpTool(
    description="Find a thing.",
    method="GET",
    url="https://api.test/things/{id}",
    parameters=SCHEMA,
    effect="read",
)
SECRET = "sk-Very/Secret+Value=="
BASIC = "Basic " + base64.b64encode(b"ada:correct horse battery").decode()


class Bench:
    """A tool on a canary: `call` runs it as a run would."""

    def __init__(self, bird: Canary, secrets: Mapping[str, str] | None = None) -> None:
        self.bird = bird
        self.secrets = secrets or {}
        self.opened = 0

    async def open(self) -> Mapping[str, str]:
        self.opened += 1
        return {f"{field}@{self.bird.url}": secret for field, secret in self.secrets.items()}

    async def call(self, definition: HttpTool, arguments: dict[str, Json] | str) -> ToolAnswer:
        definition = replace(definition, url=definition.url.replace("https://api.test", self.bird.url))
        check_http_tool("find", definition)
        tool = make_http_tool("find", definition, self.open, Egress([f"127.0.0.1:{self.bird.port}"]))
        context = ToolContext(
            tenant="t", user="u", project=None, session="s", run="r", call_id="call_7", report=lambda _: None
        )
        given = arguments if isinstance(arguments, str) else json.dumps(arguments)
        executor = ToolExecutor([tool], AgentRunConfig(max_tool_result_bytes=10_000))
        return await executor.call(ToolCall("c", FunctionCall("find", given)), context)


async def test_arguments_of_a_reading_call_go_into_path_and_query() -> None:
    """C3: those the template names where it names them, the others as a query; null is left out."""
    async with canary() as bird:
        bird.answers["/things/a%2Fb%3F%23%C3%BC"] = answer_with(b'{"name":"Thing"}', kind="application/json")
        definition = replace(
            TOOL, url=TOOL.url + "?v=2&n={n}", parameters={**SCHEMA, "required": ["id", "n"]}
        )
        arguments: dict[str, Json] = {
            "id": "a/b?#ü",
            "n": 5,
            "q": "x&y=z",
            "tags": ["a", "b c"],
            "more": {"k": 1},
            "flag": None,
        }
        answer = await Bench(bird).call(definition, arguments)
    assert answer == ToolAnswer('{"name":"Thing"}')
    assert bird.last.target == (
        "/things/a%2Fb%3F%23%C3%BC?v=2&n=5&q=x%26y%3Dz&tags=a&tags=b%20c&more=%7B%22k%22%3A1%7D"
    )
    assert "idempotency-key" not in bird.last.headers


@pytest.mark.parametrize("effect", ["once", "idempotent"])
async def test_arguments_of_a_writing_call_go_into_a_body(effect: Effect) -> None:
    """C3: as JSON; a call that must not happen twice says its key."""
    async with canary() as bird:
        definition = replace(TOOL, method="POST", effect=effect)
        answer = await Bench(bird).call(definition, {"id": "7", "q": 'x"', "more": {"k": [1]}, "flag": None})
    assert answer == ToolAnswer("ok")
    assert (bird.last.method, bird.last.target) == ("POST", "/things/7")
    assert json.loads(bird.last.body) == {"q": 'x"', "more": {"k": [1]}, "flag": None}
    assert bird.last.headers["content-type"] == "application/json"
    assert bird.last.headers["idempotency-key"] == "call_7"


@pytest.mark.parametrize(
    "given", ["..", ".", "", "../../admin", "%2e%2e", "a\r\nX-Evil: 1", "\\..\\", "@evil.test", "//x"]
)
async def test_an_argument_cannot_leave_its_place(given: str) -> None:
    """C3: no path above the template's, no other host, no header."""
    async with canary() as bird:
        answer = await Bench(bird).call(TOOL, {"id": given})
        for call in bird.calls:
            assert call.target.startswith("/things/")
            assert call.target.count("/") == 2
            assert "x-evil" not in call.headers
    if given in ("..", ".", "", "../../admin", "\\..\\"):
        assert answer.error == "egress_refused"
        assert bird.connections == 0


async def test_two_arguments_cannot_make_what_one_cannot() -> None:
    """C3: the path is looked at when it is whole."""
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["a", "b"],
    }
    async with canary() as bird:
        definition = replace(TOOL, url="https://api.test/x/{a}{b}/y", parameters=schema)
        assert (await Bench(bird).call(definition, {"a": ".", "b": "."})).error == "egress_refused"
        assert (await Bench(bird).call(definition, {"a": ".", "b": "a"})).error is None
    assert bird.last.target == "/x/.a/y"


async def test_headers_come_from_the_definition_and_secrets_from_the_vault() -> None:
    """C3: opened for the call, and only if there is one."""
    headers = [HttpHeader(name="X-Plain", value="p"), HttpHeader(name="Authorization", secret=True)]
    async with canary() as bird:
        bench = Bench(bird, {"header:authorization": f"Bearer {SECRET}"})
        await bench.call(TOOL, {"id": "1"})
        assert bench.opened == 0
        await bench.call(replace(TOOL, headers=headers), {"id": "1", "q": "Authorization: no"})
        assert (bird.last.headers["authorization"], bird.last.headers["x-plain"]) == (f"Bearer {SECRET}", "p")
        bench.secrets = {}
        answer = await bench.call(replace(TOOL, headers=headers), {"id": "1"})
    assert answer.error == "invalid_tool"
    assert len(bird.calls) == 2


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
@pytest.mark.parametrize("secret", [f"Bearer {SECRET}", BASIC, 'with"quote and \\ backslash'])
async def test_a_secret_that_is_mirrored_is_masked(status: int, kind: str, secret: str) -> None:
    """C3: whole, in parts, in another case, as URLs and JSON write it; in results and in errors."""
    shown = [secret, secret.split()[-1], secret.upper(), "x" + secret + "y"]
    shown += (
        ["http://x/?t=" + SECRET.replace("/", "%2F").replace("+", "%2B").replace("=", "%3D")]
        if SECRET in secret
        else []
    )
    shown += ["correct horse battery"] if secret == BASIC else []
    async with canary() as bird:
        body = (
            json.dumps({"headers": shown, secret: 1}).encode()
            if "json" in kind
            else "\n".join(shown).encode()
        )
        bird.answers["/things/1"] = answer_with(body, status=status, kind=kind)
        definition = replace(TOOL, headers=[HttpHeader(name="X-Auth", secret=True)])
        answer = await Bench(bird, {"header:x-auth": secret}).call(definition, {"id": "1"})
    text = str(answer.content)
    assert "[secret]" in text
    hidden = (secret, json.dumps(secret)[1:-1], secret.split()[-1])
    assert all(part.lower() not in text.lower() for part in hidden)
    assert SECRET not in text
    assert "horse" not in text


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize(
    ("secret", "kind", "body"),
    [
        (SECRET, "application/json", json.dumps({"got": SECRET}).replace("/", "\\/")),
        (SECRET, "text/plain", json.dumps({"got": SECRET}).replace("/", "\\/") + "\nmore"),
        (SECRET, "application/json", '{"got":"' + "".join(f"\\u{ord(c):04x}" for c in SECRET) + '"}'),
        ("a&b<c>defgh", "text/plain", 'log: "a\\u0026b\\u003cc\\u003edefgh"'),
        ("a&b<c>defgh", "text/html", "<p>a&amp;b&lt;c&gt;defgh</p>"),
        ("1234567890123", "application/json", '{"pin": 1234567890123}'),
        (SECRET, "text/plain", base64.b64encode(SECRET.encode()).decode()),
    ],
)
async def test_a_secret_is_masked_however_it_is_written(
    status: int, secret: str, kind: str, body: str
) -> None:
    """C3: as PHP and Go write JSON, as pages write it, as a number, packed."""
    async with canary() as bird:
        bird.answers["/things/1"] = answer_with(body.encode(), status=status, kind=kind)
        definition = replace(TOOL, headers=[HttpHeader(name="X-Auth", secret=True)])
        answer = await Bench(bird, {"header:x-auth": secret}).call(definition, {"id": "1"})
        other = await Bench(bird, {"header:x-auth": "another-secret"}).call(definition, {"id": "1"})
    assert "[secret]" in str(answer.content)
    assert "[secret]" not in str(other.content)
    if status == 403:
        assert str(other.content).endswith(body)


async def test_a_secret_in_a_redirect_is_masked_too() -> None:
    """C3: the message of a failure names the host it led to."""
    async with canary() as bird:
        bird.answers["/things/1"] = redirect("http://s3cretvalue123.invalid./")
        bird.answers["/things/2"] = redirect("http://127.0.0.1:1/s3cretvalue123")
        definition = replace(TOOL, headers=[HttpHeader(name="X-Auth", secret=True)])
        for thing in ("1", "2"):
            answer = await Bench(bird, {"header:x-auth": "S3cretValue123"}).call(definition, {"id": thing})
            assert answer.error == "egress_refused"
            assert "s3cretvalue123" not in str(answer.content).lower()


@pytest.mark.parametrize(
    ("path", "content", "error"),
    [
        (None, '{"data":{"items":[{"name":"Ada"},{"name":null}]},"n":1}', None),
        ("data.items.0.name", "Ada", None),
        ("data.items.1", '{"name":null}', None),
        ("data.items.1.name", "null", None),
        ("n", "1", None),
        ("data.items.2", None, "upstream_invalid"),
        ("data.items.-1", None, "upstream_invalid"),
        ("data.nothing", None, "upstream_invalid"),
        ("n.x", None, "upstream_invalid"),
        ("data.items.99999999999999999999", None, "upstream_invalid"),
    ],
)
async def test_a_part_of_the_answer_can_be_asked_for(
    path: str | None, content: str | None, error: str | None
) -> None:
    """C3: what the result path names, text as it is, all else as JSON."""
    async with canary() as bird:
        body = b'{"data": {"items": [{"name": "Ada"}, {"name": null}]}, "n": 1}'
        bird.answers["/things/1"] = answer_with(body, kind="application/json")
        answer = await Bench(bird).call(replace(TOOL, result_path=path), {"id": "1"})
    assert answer.error == error
    assert content is None or answer.content == content


@pytest.mark.parametrize(
    ("body", "kind", "content"),
    [
        ("grün".encode(), "text/plain", "grün"),
        ("grün".encode("latin-1"), "text/plain; charset=iso-8859-1", "grün"),
        ("grün".encode("latin-1"), 'text/plain; charset="windows-1252"', "grün"),
        ("grün".encode("latin-1"), "text/plain", "gr\ufffdn"),
        (b"abc", "text/plain; charset=nonsense", "abc"),
        (b"abc", "text/plain; charset=unicode_escape", "abc"),
        (b"\xef\xbb\xbf[1]", "application/json", "[1]"),
        (b"<a>1</a>", "application/atom+xml", "<a>1</a>"),
        (b"{nonsense", "application/json", "{nonsense"),
        (b"[" * 5000, "application/json", "[" * 5000),
        (b"\x89PNG\0", "image/png", "(image/png, 5 bytes: not text)"),
        (b"", "text/plain", "It answered 200, without a body."),
    ],
)
async def test_an_answer_of_any_kind_becomes_text(body: bytes, kind: str, content: str) -> None:
    """C3: in its charset, as far as it has one; what is no text is described."""
    async with canary() as bird:
        bird.answers["/things/1"] = answer_with(body, kind=kind)
        answer = await Bench(bird).call(TOOL, {"id": "1"})
    assert answer == ToolAnswer(content)


async def test_a_large_answer_is_cut_and_a_failed_one_is_said() -> None:
    """C3: results keep to the run's limit, errors to less."""
    async with canary() as bird:
        bird.answers["/things/1"] = answer_with(b"x" * 50_000)
        bird.answers["/things/2"] = answer_with(b"y" * 50_000, status=503)
        bird.answers["/things/3"] = answer_with(b"x" * 2_000_000)
        large = await Bench(bird).call(TOOL, {"id": "1"})
        failed = await Bench(bird).call(TOOL, {"id": "2"})
        too_large = await Bench(bird).call(TOOL, {"id": "3"})
    assert len(str(large.content)) <= 10_000
    assert "cut" in str(large.content)
    assert failed.error == "upstream_error"
    assert str(failed.content).startswith("It answered 503: yyy")
    assert len(str(failed.content)) < 2100
    assert too_large.error == "upstream_too_large"


@pytest.mark.parametrize(("effect", "code"), [("once", "unknown"), ("idempotent", "upstream_invalid")])
async def test_an_answer_that_breaks_off_leaves_a_once_only_call_unknown(effect: Effect, code: str) -> None:
    """C3: it may have been carried out, and the model is told so; a call that may be repeated has failed."""
    async with canary() as bird:
        bird.answers["/things/7"] = b"HTTP/1.1 200 So\r\nContent-Length: 10\r\n\r\nhalf"
        answer = await Bench(bird).call(replace(TOOL, method="POST", effect=effect), {"id": "7"})
        assert answer.error == code
        assert bird.connections == 1


async def test_a_call_that_was_never_sent_has_simply_failed() -> None:
    """C3: nobody answered the connection, so nothing can have happened."""
    async with canary() as bird:
        port = bird.port
    gone = Canary()
    gone.port = port
    answer = await Bench(gone).call(replace(TOOL, method="POST", effect="once"), {"id": "7"})
    assert answer.error == "upstream_unreachable"


async def test_arguments_that_do_not_fit_are_not_sent() -> None:
    """C3: the schema is checked first, as for any tool."""
    async with canary() as bird:
        for arguments in ({}, {"id": 5}, {"id": "1", "tags": "no"}, "nonsense"):
            answer = await Bench(bird).call(TOOL, cast("dict[str, Json]", arguments))
            assert answer.error == "bad_arguments"
        assert bird.connections == 0


def _with(**changes: object) -> HttpTool:
    return replace(TOOL, **changes)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "definition",
    [
        *(
            _with(url=url)
            for url in ("", "api.test/{id}", "ftp://api.test/{id}", "https:///x", "https://{id}/")
        ),
        *(
            _with(url=url)
            for url in ("https://api.test{id}/", "https://{id}.api.test/", "https://api.test:{id}/")
        ),
        *(_with(url=url) for url in ("{id}://api.test/", "https://{id}@api.test/", "https://u:p@api.test/")),
        *(_with(url=url) for url in ("https://api.test/#{id}", "https://api.test/{", "https://api.test/}")),
        *(
            _with(url=url)
            for url in ("https://api.test/{}", "https://api.test/{a b}", "https://api.test/{{id}}")
        ),
        *(
            _with(url=url)
            for url in ("https://api.test/{unknown}", "https://api.test/{n}", "https://api.test/../x")
        ),
        *(
            _with(url=url)
            for url in ("https://api.test/{more}", "https://api.test/ {id}", "https://api.test/\n")
        ),
        *(
            _with(url=url)
            for url in ("https://127.1/{id}", "https://0x7f.1/", "https://[::1%25eth0]/", "https://a\\b/")
        ),
        *(_with(url=url) for url in ("https://api.test/./{id}", "https://api.test/" + "x" * 9000)),
        *(_with(timeout_s=time) for time in (0, -1, 121, float("nan"), float("inf"))),
        *(_with(result_path=path) for path in ("", ".", "a..b", "a.", "x" * 600)),
        _with(method="TRACE"),
        *(
            _with(headers=[HttpHeader(name=name)])
            for name in ("", "a b", "a:", "é", "x\r\ny", "Host", "CONNECTION")
        ),
        *(
            _with(headers=[HttpHeader(name=name)])
            for name in ("content-length", "Transfer-Encoding", "x" * 65)
        ),
        *(
            _with(headers=[HttpHeader(name="X", value=value)])
            for value in ("a\nb", "a\0", " a", "é", "x" * 9000)
        ),
        _with(headers=[HttpHeader(name="X", value="1"), HttpHeader(name="x", secret=True)]),
        _with(headers=[HttpHeader(name=f"X-{n}") for n in range(33)]),
        *(_with(parameters=schema, url="https://api.test/") for schema in ({}, {"type": "string"})),
        _with(
            parameters={"type": "object", "properties": {"a": {"type": "nonsense"}}}, url="https://api.test/"
        ),
        _with(parameters={"type": "object", "properties": {"id": {"type": "string"}}}),
        _with(effect="sometimes"),
    ],
)
def test_a_definition_that_cannot_work_is_refused_when_it_is_made(definition: HttpTool) -> None:
    """C3: with a code and words, before anybody calls it."""
    with pytest.raises(UserError) as refused:
        check_http_tool("find", definition)
    assert refused.value.code in ("invalid_tool", "invalid_schema")
    assert "find" in refused.value.message


@pytest.mark.parametrize("name", ["", "a b", "1a", "x" * 65, "ünit"])
def test_a_name_that_models_cannot_call_is_refused(name: str) -> None:
    """C3: as for any tool."""
    with pytest.raises(UserError) as refused:
        check_http_tool(name, TOOL)
    assert refused.value.code == "invalid_tool"


def test_the_value_of_a_header_is_in_no_message() -> None:
    """C3: it may be the secret itself, on its way to the vault."""
    with pytest.raises(UserError) as refused:
        check_http_tool("find", _with(headers=[HttpHeader(name="X", value="s3cret\n", secret=True)]))
    assert "s3cret" not in str(refused.value)
