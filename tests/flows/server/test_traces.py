"""Traces of runs: what is sent for one, when, with which key, and what becomes of what a service does not take."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from agents import Agent, Tool
from msgspec import structs

from agio import tool
from agio.telemetry.export.config import OpenAITraces, OtlpExport, TraceSettings
from agio.testing import Call, Reply
from agio.worker.app import App, load_app
from tests.flows.server.home import LIMITS, Home, open_home
from tests.flows.server.talk import SseTalk
from tests.flows.server.test_mcp import add_server
from tests.support.collector import Collector, Item, collecting
from tests.support.engine import LATER, soon
from tests.support.mcp_server import fixture_server
from tests.support.otlp import OtlpSpan, metrics_of, spans_of
from tests.support.sdk_traces import boom, clock, pay, run_sdk, sdk_model, shape_of
from tests.support.served import LinkKind

QUICK = structs.replace(LIMITS, traces_s=0.05)


@tool(name="clock", effect="read")
def our_clock() -> str:
    """Return the time."""
    return "12:00"


@tool(name="pay", approval="ask")
def our_pay(amount: int) -> str:
    """Pay."""
    return f"{amount} paid"


@tool(name="boom", effect="read")
def our_boom() -> str:
    """Fail."""
    raise ValueError("no")


OURS = App({}, {each.name: each for each in (our_clock, our_pay, our_boom)})

ASK_CLERK = [Reply(tool_calls=[Call("ask_clerk", {"input": "task"})]), Reply("The clerk."), Reply("Done.")]
SCRIPTS: Mapping[str, list[Reply]] = {
    "tool": [Reply("Let me see.", tool_calls=[Call("clock", {})]), Reply("Noon.")],
    "parallel": [Reply(tool_calls=[Call("clock", {}), Call("clock", {})]), Reply("Noon.")],
    "failing": [Reply(tool_calls=[Call("boom", {})]), Reply("It failed.")],
    "handoff": [Reply(tool_calls=[Call("transfer_to_billing", {})]), Reply("4 EUR.")],
    "subagent": ASK_CLERK,
    "approval": [Reply(tool_calls=[Call("pay", {"amount": 3})]), Reply("Paid.")],
}


async def our_run(home: Home, script: list[Reply], text: str = "Please.") -> str:
    """Run the desk of a team, approve what it asks; returns its session."""
    tools = ["clock", "pay", "boom"]
    for name in ("clerk", "billing"):
        await home.create_agent(name=name)
    handoffs = [{"agent": "billing"}, {"agent": "clerk", "mode": "tool", "tool": "ask_clerk"}]
    desk = await home.create_agent(name="desk", tools=tools, handoffs=handoffs)
    talk = SseTalk(home, await home.start_session(desk))
    home.model.script(*script)
    await talk.say(text)
    asked = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}/interrupts")
    questions = cast("list[dict[str, str]]", asked["items"])
    if questions:
        answers = [{"interrupt_id": each["id"], "approved": True} for each in questions]
        await talk.answer(answers)
    return talk.session_id


def traced(collector: Collector, **fields: Any) -> TraceSettings:
    """Send traces to the collector."""
    endpoint = f"{collector.url}/v1/traces/ingest"
    return TraceSettings(openai=OpenAITraces(endpoint=endpoint, api_key="operator", **fields))


async def _until(collector: Collector, roots: int) -> list[Item]:
    """Wait until so many runs have come."""
    posts = 0
    while sum(1 for item in collector.items if item.get("parent_id", "-") is None) < roots:
        posts += 1
        await collector.wait_for(posts)
    return collector.items


@pytest.mark.parametrize("script", SCRIPTS)
async def test_a_run_is_sent_as_the_sdk_sends_it(database: str | Path, link: LinkKind, script: str) -> None:
    """R10: the spans, their parents and their fields are those of the SDK for the same run."""
    async with (
        collecting() as ours,
        collecting() as theirs,
        open_home(database, link, limits=QUICK, app=OURS, traces=traced(ours)) as home,
    ):
        await our_run(home, SCRIPTS[script])
        sent = await _until(ours, 2 if script == "approval" else 1)
        async with sdk_model(home.model) as model:
            make = partial(Agent[None], instructions="Be brief.", model=model)
            tools: list[Tool] = [clock, pay, boom, make("clerk").as_tool("ask_clerk", "Ask the clerk.")]
            desk = make("desk", tools=tools, handoffs=[make("billing")])
            home.model.script(*SCRIPTS[script])
            await run_sdk(f"{theirs.url}/v1/traces/ingest", desk, "Please.")
        expected = "\n".join(shape_of(theirs.items))
        if script == "approval":  # an answer is a run of its own, which counts its turns anew
            expected = expected.replace("turn 2", "turn 1")
        assert "\n".join(shape_of(sent)) == expected
        [head, *again] = [item for item in sent if item["object"] == "trace"]
        assert all(each == head for each in again)
        assert head.keys() == theirs.items[0].keys()
        assert ours.posts[0].headers.keys() >= {"authorization", "openai-beta", "content-type"}
        assert not home.model.problems


TOOK = "gen_ai.client.operation.duration"
CALLER = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"


def observed(collector: Collector, **fields: Any) -> TraceSettings:
    """Send traces and metrics to the collector as OTLP."""
    otlp = OtlpExport(
        traces_url=f"{collector.url}/v1/traces",
        metrics_url=f"{collector.url}/v1/metrics",
        resource={"service.name": "agio"},
        **fields,
    )
    return TraceSettings(otlp=otlp)


async def _runs(collector: Collector, count: int) -> list[OtlpSpan]:
    """Wait until so many runs have come as OTLP."""
    posts = 0
    while sum("agio.run.status" in span.attributes for span in spans_of(collector.posts)) < count:
        posts += 1
        await collector.wait_for(posts)
    return spans_of(collector.posts)


async def test_the_callers_trace_goes_on_in_models_tools_and_mcp(
    database: str | Path, link: LinkKind
) -> None:
    """R10, S13: the request's context reaches every service that is called, each under the span of its call."""
    async with (
        collecting() as collector,
        fixture_server() as fixture,
        open_home(
            database, link, limits=QUICK, egress_allow=["127.0.0.1"], traces=observed(collector)
        ) as home,
    ):
        await add_server(home, fixture)
        order = {"name": "order", "method": "POST", "url": f"{collector.url}/order", "effect": "once"}
        await home.ask("POST", "/api/agent-tools", order, expect=201)
        desk = await home.create_agent(name="desk", tools=["order", "shop_echo"])
        session = await home.start_session(desk)
        calls = [Call("order", {}), Call("shop_echo", {"text": "hello"})]
        home.model.script(Reply(tool_calls=calls), Reply("Done."))
        home.http.headers["traceparent"] = CALLER
        await home.ask("POST", f"/api/agent-sessions/{session}/message", {"content": "Go"}, expect=202)
        spans = await _runs(collector, 1)
        assert {span.trace_id for span in spans} == {"ab" * 16}
        by_name = {(span.name, number): span for number, span in enumerate(spans)}
        ids = {span.id: span.name for span in spans}
        [root] = [span for span in spans if span.name == "invoke_workflow desk"]
        assert (root.parent, root.attributes["user.id"]) == ("cd" * 8, "local")
        assert {ids[span.parent] for span in spans if span is not root} == {root.name, "invoke_agent desk"}
        assert len(by_name) == len(ids)

        def under(header: object) -> str:
            version, trace, span, flags = str(header).split("-")
            assert (version, trace, flags) == ("00", "ab" * 16, "01")
            return ids[span]

        assert [under(call.headers["traceparent"]) for call in home.model.calls] == ["chat test", "chat test"]
        [ordered] = [post for post in collector.posts if post.path == "/order"]
        assert under(ordered.headers["traceparent"]) == "execute_tool order"
        assert under(fixture.metas[-1]["traceparent"]) == "execute_tool shop_echo"


async def test_otlp_has_the_genai_conventions_and_no_content_unless_it_is_asked_for(tmp_path: Path) -> None:
    """R10: spans, attributes and metrics as OpenTelemetry's own definitions read them."""
    async with (
        collecting() as collector,
        open_home(tmp_path, "direct", limits=QUICK, app=OURS, traces=observed(collector)) as home,
    ):
        session = await our_run(home, SCRIPTS["approval"], "Secret words.")
        spans = await _runs(collector, 2)
        [first, second] = [span for span in spans if span.name == "invoke_workflow desk"]
        assert (first.parent, second.parent, second.links) == ("", first.id, [first.id])
        assert first.resource == {"service.name": "agio"}
        chat = next(span for span in spans if span.name == "chat test")
        assert chat.kind == 3
        assert chat.end_ns >= chat.start_ns > 1_700_000_000 * 10**9
        assert (
            chat.attributes.items()
            >= {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "test",
                "gen_ai.conversation.id": session,
                "gen_ai.usage.input_tokens": "25",
            }.items()
        )
        asked, paid = [span for span in spans if span.name == "execute_tool pay"]
        assert asked.id != paid.id
        told = str([span.attributes for span in spans])
        assert not any(words in told for words in ("Secret words", "Be brief", "3 paid", '"amount"'))
        metrics: dict[str, list[dict[str, Any]]] = {}
        while not metrics or metrics[TOOK][0]["count"] < 2:
            posts = [post for post in collector.posts if post.path == "/v1/metrics"]
            metrics = metrics_of(posts[-1]) if posts else {}
            await collector.wait_for(len(collector.posts) + (not metrics or metrics[TOOK][0]["count"] < 2))
        assert metrics[TOOK][0]["gen_ai.request.model"] == "test"
        used = {each["gen_ai.token.type"]: each["sum"] for each in metrics["gen_ai.client.token.usage"]}
        assert used["input"] == 50.0


async def test_otlp_has_content_and_the_names_of_openinference_on_request(tmp_path: Path) -> None:
    """R10: texts only where the operator and the team let them out."""
    async with collecting() as collector:
        settings = observed(collector, content=True, openinference=True)
        async with open_home(tmp_path, "direct", limits=QUICK, app=OURS, traces=settings) as home:
            await our_run(home, SCRIPTS["tool"], "Secret words.")
            spans = await _runs(collector, 1)
            chat, _ = [span for span in spans if span.name == "chat test"]
            assert chat.attributes["openinference.span.kind"] == "LLM"
            assert chat.attributes["llm.input_messages.1.message.content"] == "Secret words."
            assert "Secret words." in chat.attributes["gen_ai.input.messages"]
            await home.gateway.store.set_traces("default", "structure")
            talk = SseTalk(home, await home.start_session(await home.create_agent(name="other")))
            home.model.script(Reply("More secret."))
            await talk.say("Hidden words.")
            told = str((await _runs(collector, 2))[len(spans) :])
            assert "Hidden words" not in told
            assert "More secret" not in told


async def _look(home: Home, service: str = "openai") -> dict[str, Any]:
    """What the page says of a service."""
    found = await home.ask("GET", "/api/observability")
    return next(each for each in cast("list[dict[str, Any]]", found["services"]) if each["name"] == service)


async def _until_said(home: Home, *, sent: int = 0, refused: int = 0) -> list[dict[str, Any]]:
    """Wait until so many runs were sent and refused, and none waits; returns what the page says."""
    store = home.gateway.store

    async def look() -> None:
        while True:
            exports = await store.trace_exports("default")
            waiting, _ = await store.trace_backlog("openai")
            done = sum(each.sent for each in exports), sum(each.refused for each in exports)
            if (*done, waiting) == (sent, refused, 0):
                return

    await soon(look())
    return cast("list[dict[str, Any]]", (await _look(home))["accounts"])


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "It does not accept the key (401). It says: Not today."), (404, "nothing at this address")],
)
async def test_what_a_service_refuses_for_good_is_counted_and_said(
    tmp_path: Path, status: int, words: str
) -> None:
    """R10: the run is not affected; its trace is not sent again; the page says why."""
    async with (
        collecting() as collector,
        open_home(tmp_path, "direct", limits=QUICK, app=OURS, traces=traced(collector)) as home,
    ):
        collector.status = status
        session = await our_run(home, SCRIPTS["tool"])
        assert (await home.ask("GET", f"/api/agent-sessions/{session}/status"))["state"] == "idle"
        [account] = await _until_said(home, refused=1)
        assert account["error_code"] == "traces_refused"
        assert words in account["error_message"]
        test = await home.ask("POST", "/api/observability/test", {"service": "openai"})
        assert (test["ok"], test["error_code"]) == (False, "traces_refused")
        collector.status = 200
        test = await home.ask("POST", "/api/observability/test", {"service": "openai"})
        assert (test["ok"], test["error_code"]) == (True, None)
        assert collector.items[0]["workflow_name"] == "agio test"
        assert len(collector.posts) == 1
        await home.ask("POST", "/api/observability/test", {"service": "otlp"}, expect=404)
        async with home.http.get(f"{home.url}/metrics") as answer:
            assert 'agio_traces_total{outcome="refused",service="openai"} 1.0' in await answer.text()


@pytest.mark.parametrize("status", [429, 500, None], ids=["429", "500", "hangs"])
async def test_what_a_service_does_not_take_for_now_is_sent_later(
    database: str | Path, link: LinkKind, status: int | None
) -> None:
    """R10: nothing is lost and nothing comes twice, whatever the service answers meanwhile."""
    async with collecting() as collector:
        collector.answers = [status, status]
        settings = traced(collector, timeout_s=0.2)
        async with open_home(database, link, limits=QUICK, app=OURS, traces=settings) as home:
            await our_run(home, SCRIPTS["tool"])
            await collector.wait_for(refused=1)
            [account] = await _until_said(home, sent=1)
            assert (account["failures"], account["error_code"]) == (0, "traces_unavailable")
        ids = [item["id"] for item in collector.items]
        assert len(set(ids)) == len(ids)
        assert ids == [item["id"] for item in cast("list[Item]", collector.refused[0].body["data"])]


async def test_a_run_that_a_service_does_not_accept_takes_no_other_with_it(tmp_path: Path) -> None:
    """R10: a batch that is refused is sent in halves, so that the good ones arrive."""
    async with collecting() as collector:
        collector.answers = [500, 400, 400]
        limits = structs.replace(QUICK, traces_s=0.5)
        async with open_home(tmp_path, "direct", limits=limits, traces=traced(collector)) as home:
            talk = SseTalk(home, await home.start_session(await home.create_agent(name="desk")))
            for _ in range(2):
                home.model.script(Reply("Yes."))
                await talk.say("Hello")
            await collector.wait_for(1, 3)
            [account] = await _until_said(home, sent=1, refused=1)
            assert account["failures"] == 0


async def test_a_teams_own_key_is_used_for_its_runs_and_never_the_operators(tmp_path: Path) -> None:
    """R10: a run on the team's OpenAI key is sent with it; one on another vendor of the team's is not sent at all."""
    async with (
        collecting() as collector,
        open_home(
            tmp_path,
            "direct",
            limits=QUICK,
            egress_allow=["127.0.0.1"],
            traces=traced(collector, project="proj"),
        ) as home,
    ):
        for name, wire in (("mine", "openai-chat"), ("claude", "anthropic")):
            endpoint = home.model.endpoint(wire)
            body = {"name": name, "kind": wire, "base_url": endpoint.base_url, "api_key": endpoint.api_key}
            await home.ask("POST", "/api/providers", body, expect=201)
        for name in ("claude", "mine", "openai-chat"):
            agent = await home.create_agent(name=name, model_provider=name)
            home.model.script(Reply("Hello."))
            await SseTalk(home, await home.start_session(agent)).say("Hello")
        sent = await _until(collector, 2)
        by_key = {post.headers["authorization"]: post for post in collector.posts}
        assert by_key.keys() == {"Bearer test-key", "Bearer operator"}
        assert "openai-project" not in by_key["Bearer test-key"].headers
        assert by_key["Bearer operator"].headers["openai-project"] == "proj"
        assert {item["workflow_name"] for item in sent if item["object"] == "trace"} == {
            "mine",
            "openai-chat",
        }
        accounts = await _until_said(home, sent=2)
        assert {(each["own"], each["sent"]) for each in accounts} == {(False, 1), (True, 1)}


async def test_a_server_that_stops_sends_what_is_queued_and_links_lead_to_it(tmp_path: Path) -> None:
    """R10: traces are flushed at the end; a run links to its trace where there is one; deleting deletes."""
    limits = structs.replace(LIMITS, traces_s=LATER)
    async with collecting() as collector:
        settings = structs.replace(
            observed(collector), link="https://see.test/{trace_id}", openai=OpenAITraces()
        )
        async with open_home(tmp_path, "direct", limits=limits, app=OURS, traces=settings) as home:
            home.http.headers["traceparent"] = CALLER
            session = await our_run(home, SCRIPTS["tool"])
            run = cast("list[dict[str, str]]", (await home.ask("GET", "/api/runs"))["items"])[0]["id"]
            links = cast("list[dict[str, str]]", (await home.ask("GET", f"/api/runs/{run}/trace"))["links"])
            assert [link["service"] for link in links] == ["openai", "otlp"]
            assert links[0]["url"].startswith("https://platform.openai.com/traces/trace?trace_id=trace_")
            assert links[1]["url"] == f"https://see.test/{'ab' * 16}"
            changed = await home.ask("PATCH", "/api/observability", {"traces": "off"})
            assert changed["traces"] == "off"
            links = cast("list[dict[str, str]]", (await home.ask("GET", f"/api/runs/{run}/trace"))["links"])
            assert [link["service"] for link in links] == ["otlp"]
            assert (await _look(home, "otlp"))["waiting"] == 1
            other = await our_second(home)
            await home.ask("DELETE", f"/api/agent-sessions/{other}", expect=204)
            assert (await _look(home, "otlp"))["waiting"] == 1
            assert not collector.posts
        assert {span.attributes["gen_ai.conversation.id"] for span in spans_of(collector.posts)} == {session}


async def our_second(home: Home) -> str:
    """Run another agent; returns its session."""
    talk = SseTalk(home, await home.start_session(await home.create_agent(name="second")))
    home.model.script(Reply("Yes."))
    await talk.say("Hello")
    return talk.session_id


async def test_without_a_service_nothing_is_queued(tmp_path: Path) -> None:
    """R10: a server that sends no traces keeps none, passes no context on, and forgets what it was to send."""
    async with collecting() as collector:
        collector.status = 500
        async with open_home(tmp_path, "direct", limits=QUICK, traces=traced(collector)) as home:
            await our_second(home)
            await collector.wait_for(refused=1)
    async with open_home(tmp_path, "direct", limits=QUICK) as home:
        store = home.gateway.store

        async def emptied() -> None:
            while (await store.trace_backlog("openai"))[0]:
                pass

        await soon(emptied())
        agent = await home.create_agent(name="third")
        home.model.script(Reply("Yes."))
        await SseTalk(home, await home.start_session(agent)).say("Hello")
        assert "traceparent" not in home.model.calls[-1].headers
        assert (await home.ask("GET", "/api/observability"))["services"] == []
        assert (await store.trace_backlog("openai"))[0] == 0


SDK_MODULE = '''
from agents import Agent, function_tool


@function_tool
def clock() -> str:
    """Return the time."""
    return "12:00"


billing = Agent("billing", instructions="Be brief.", model="openai-chat:test")
desk = Agent("desk", instructions="Be brief.", model="openai-chat:test", tools=[clock], handoffs=[billing])
'''


@pytest.mark.parametrize("script", ["tool", "handoff"])
async def test_a_run_that_the_sdk_drives_is_sent_as_one_of_its_own(tmp_path: Path, script: str) -> None:
    """R10, R13: its trace is made from the same log, and is the trace that the SDK itself sends."""
    module = tmp_path / "my_agents.py"
    module.write_text(SDK_MODULE)
    async with (
        collecting() as ours,
        collecting() as theirs,
        open_home(tmp_path, "direct", limits=QUICK, app=load_app(str(module)), traces=traced(ours)) as home,
    ):
        agents = cast("list[dict[str, str]]", (await home.ask("GET", "/api/agents"))["items"])
        desk = next(agent["id"] for agent in agents if agent["name"] == "desk")
        home.http.headers["traceparent"] = CALLER
        home.model.script(*SCRIPTS[script])
        await SseTalk(home, await home.start_session(desk)).say("Please.")
        assert all(call.headers["traceparent"][3:35] == "ab" * 16 for call in home.model.calls)
        async with sdk_model(home.model) as model:
            make = partial(Agent[None], instructions="Be brief.", model=model)
            home.model.script(*SCRIPTS[script])
            agent = make("desk", tools=[clock], handoffs=[make("billing")])
            await run_sdk(f"{theirs.url}/v1/traces/ingest", agent, "Please.")
        assert "\n".join(shape_of(await _until(ours, 1))) == "\n".join(shape_of(theirs.items))
