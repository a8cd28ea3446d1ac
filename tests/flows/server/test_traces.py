"""Traces of runs: what is sent for one, when, with which key, and what becomes of what a service does not take."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from agents import Agent
from msgspec import structs

from agio import tool
from agio.telemetry.export.config import OpenAITraces, OtlpExport, TraceSettings
from agio.testing import Call, Reply
from agio.worker.app import App
from tests.flows.server.home import LIMITS, Home, open_home
from tests.flows.server.talk import SseTalk
from tests.flows.server.test_mcp import add_server
from tests.support.collector import Collector, Item, collecting
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
        answers = [
            {"interrupt_id": each["id"], "approved": True} for each in questions
        ]
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
    """S13: the spans, their parents and their fields are those of the SDK for the same run."""
    async with (
        collecting() as ours,
        collecting() as theirs,
        open_home(database, link, limits=QUICK, app=OURS, traces=traced(ours)) as home,
    ):
        await our_run(home, SCRIPTS[script])
        sent = await _until(ours, 2 if script == "approval" else 1)
        async with sdk_model(home.model) as model:
            make = partial(Agent[None], instructions="Be brief.", model=model)
            tools = [clock, pay, boom, make("clerk").as_tool("ask_clerk", "Ask the clerk.")]
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


async def test_the_callers_trace_goes_on_in_models_tools_and_mcp(database: str | Path, link: LinkKind) -> None:
    """S13: the request's context reaches every service that is called, each under the span of its call."""
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
    """S13: spans, attributes and metrics as OpenTelemetry's own definitions read them."""
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
        assert chat.attributes.items() >= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "test",
            "gen_ai.conversation.id": session,
            "gen_ai.usage.input_tokens": "25",
        }.items()
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
    """S13: texts only where the operator and the team let them out."""
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
