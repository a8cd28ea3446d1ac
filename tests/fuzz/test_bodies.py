"""Bodies that no description makes up: AG-UI inputs that were spoilt, broken forms, JSON that is hardly any."""

from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.frames import DEEP, LONG, VALUES, Json, cut, encoded, spoilt
from tests.fuzz.server import Target, target
from tests.fuzz.size import examples
from tests.support.process import KEY, answer_of

WAIT_S = 60.0
USER: dict[str, Json] = {"id": "m1", "role": "user", "content": "Hello"}
INPUT: dict[str, Json] = {
    "threadId": "a thread",
    "runId": "a run",
    "messages": [USER],
    "tools": [{"name": "ask", "description": "", "parameters": {"type": "object"}}],
    "context": [{"description": "page", "value": "1"}],
    "state": {},
    "forwardedProps": {},
    "resume": [],
}
BOUNDARY = b"a-boundary"
FORM = (
    b'--a-boundary\r\nContent-Disposition: form-data; name="session_id"\r\n\r\n\r\n'
    b'--a-boundary\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n'
    b"Content-Type: text/html\r\n\r\nHello\r\n--a-boundary--\r\n"
)
WRONG: list[Json] = [None, "", 0, [], {}, "\ud800", LONG]
BOUNDED = settings(
    derandomize=True,
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """One server for all that is sent here."""
    with target(tmp_path_factory.mktemp("bodies")) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Target) -> Iterator[httpx.Client]:
    """Somebody with a key, at the agent that is always there."""
    shown = {"authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=server.url, headers=shown, timeout=WAIT_S, trust_env=False) as made:
        yield made


@pytest.fixture(scope="module")
def door(client: httpx.Client) -> str:
    """Where AG-UI clients knock."""
    agents = answer_of(client.get("/api/agents"))["items"]
    assert isinstance(agents, list)
    return f"/api/agents/{agents[0]['id']}/ag-ui"


def _check(response: httpx.Response, *good: int) -> None:
    """Demand a good answer, or a refusal with a code."""
    assert response.status_code in good or 400 <= response.status_code < 500, response.text
    if response.status_code not in good:
        assert set(response.json()["error"]) == {"code", "message", "details"}


@BOUNDED
@given(
    body=st.one_of(
        spoilt(INPUT).map(encoded),
        spoilt(USER).map(lambda message: encoded({**INPUT, "messages": [message]})),
        VALUES.map(encoded),
    )
)
def test_a_spoilt_ag_ui_input_is_run_or_refused(client: httpx.Client, door: str, body: str) -> None:
    """S14: events or a code, whatever a client makes of RunAgentInput."""
    answered = client.post(door, content=body, headers={"content-type": "application/json"})
    _check(answered, 200)
    assert "internal_error" not in answered.text


@BOUNDED
@given(body=st.one_of(cut(encoded(INPUT).encode()), st.binary(max_size=100)))
def test_bytes_that_are_no_json_are_refused(client: httpx.Client, door: str, body: bytes) -> None:
    """S14: at each of the doors that reads JSON by itself."""
    for path in (door, "/api/agents", "/api/agent-sessions/ses_0/message"):
        answered = client.post(path, content=body, headers={"content-type": "application/json"})
        _check(answered, 200, 201, 202)


@pytest.mark.parametrize("field", sorted(INPUT))
def test_every_field_of_an_ag_ui_input_may_be_wrong(client: httpx.Client, door: str, field: str) -> None:
    """S14: nothing, too little, too much and too deep, in each field."""
    bodies = [encoded({**INPUT, field: wrong}) for wrong in WRONG]
    bodies.append(encoded({**INPUT, field: "the mark"}).replace('"the mark"', DEEP))
    for body in bodies:
        _check(client.post(door, content=body, headers={"content-type": "application/json"}), 200)


@BOUNDED
@given(
    form=st.one_of(cut(FORM), st.binary(max_size=200)),
    kind=st.sampled_from(["", "; boundary=", "; boundary=b"]),
)
def test_a_broken_form_is_refused_or_a_file(client: httpx.Client, form: bytes, kind: str) -> None:
    """S14: an upload is kept whole or not at all."""
    whole = f"multipart/form-data; boundary={BOUNDARY.decode()}"
    for said in (whole, f"multipart/form-data{kind}"):
        answered = client.post("/api/files", content=form, headers={"content-type": said})
        _check(answered, 201)
        if answered.status_code == 201:
            content = client.get(f"/api/files/{answered.json()['id']}/content")
            assert len(content.content) == answered.json()["size"]


def test_a_good_form_is_a_file_and_a_good_input_a_run(client: httpx.Client, door: str) -> None:
    """S14: what the broken ones were made of is not refused."""
    said = {"content-type": f"multipart/form-data; boundary={BOUNDARY.decode()}"}
    assert client.post("/api/files", content=FORM, headers=said).status_code == 201
    assert "RUN_FINISHED" in client.post(door, json={**INPUT, "threadId": "good"}).text
