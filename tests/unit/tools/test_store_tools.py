"""The built-in tools that need a store: profile, drafts, and what surrounds a conversation."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from agio.core.config import AgentRunConfig
from agio.core.store.records import ClaimBy, Limits, Submission
from agio.core.store.store import Store
from agio.core.tool import ToolAnswer, ToolContext
from agio.db.repository import open_store
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.messages import ContextEntry, FunctionCall, Json, ToolCall, UserMessage
from agio.tools.draft import make_draft_tool
from agio.tools.profile import make_profile_tools
from agio.tools.project_context import make_project_context_tool
from tests.support.scenes import person


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    """A store with its user `local`."""
    opened = await open_store(":memory:")
    yield opened
    await opened.close()


async def call(
    store: Store, tool: str, arguments: dict[str, Json], *, session: str = "", run: str = "", key: str = "c1"
) -> ToolAnswer:
    """Call a tool as `local` would."""
    tools = [*make_profile_tools(store), make_draft_tool(store), make_project_context_tool(store)]
    context = ToolContext(
        tenant="default",
        user="local",
        project=None,
        session=session,
        run=run,
        call_id=key,
        report=lambda _: None,
    )
    executor = ToolExecutor(tools, AgentRunConfig())
    return await executor.call(ToolCall(key, FunctionCall(tool, "")), context, arguments=arguments)


def shown(answer: ToolAnswer) -> dict[str, Json]:
    """The JSON of a good answer."""
    assert answer.error is None, answer
    return msgspec.json.decode(str(answer.content), type=dict[str, Json])


async def test_a_profile_is_noted_and_told(store: Store) -> None:
    """R11: fields are set and removed; what is refused is told with a code."""
    assert shown(await call(store, "read_profile", {})) == {"version": 0, "profile": {}}
    changed = await call(store, "update_profile", {"changes": {"name": "Ann\u0000", "about": "x"}})
    assert shown(changed) == {"version": 1, "profile": {"name": "Ann", "about": "x"}}
    removed = await call(store, "update_profile", {"changes": {"about": None}})
    assert shown(removed)["profile"] == {"name": "Ann"}
    assert (await call(store, "update_profile", {"changes": {"No": "x"}})).error == "invalid_profile"
    assert (await call(store, "update_profile", {"changes": {"name": 5}})).error == "bad_arguments"


async def test_the_same_call_writes_one_version(store: Store) -> None:
    """S12: tried again it is told what it wrote, another call writes the next."""
    plan: dict[str, Json] = {"key": "plan", "title": "Plan", "content": "one"}
    first = shown(await call(store, "store_draft_content", plan))
    assert shown(await call(store, "store_draft_content", plan)) == first
    second = shown(await call(store, "store_draft_content", plan, key="c2"))
    assert (first["version"], second["version"], first["id"]) == (1, 2, second["id"])


async def test_the_project_is_told_within_bounds(store: Store) -> None:
    """S12: session, page, profile and the newest drafts, whatever the page says."""
    ann = await person(store)
    agent = await ann.agent("helper")
    session = await ann.session(agent)
    given = Submission(
        session_id=session.id,
        run_id="run_1",
        messages=[UserMessage(id="m1", content="What is this?")],
        context=[ContextEntry("page", "Invoice 7"), ContextEntry("d" * 5000, "x" * 100_000)],
        claim=ClaimBy("w", b"t"),
    )
    await store.accept("default", "local", given, Limits())
    for number in range(12):
        draft: dict[str, Json] = {"key": f"d{number}", "title": "D", "content": "long"}
        await call(store, "store_draft_content", draft, key=f"c{number}")
    await store.put_profile("default", "local", {"name": "Ann"})
    answer = await call(store, "fetch_project_context", {}, session=session.id, run="run_1")
    project = shown(answer)
    assert project["session"] == {"id": session.id, "title": "What is this?", "agent": "helper"}
    assert project["profile"] == {"name": "Ann"}
    page, drafts = msgspec.convert(
        [project["page"], project["drafts"]], tuple[list[dict[str, str]], list[dict[str, Json]]]
    )
    assert page[0] == {"description": "page", "value": "Invoice 7"}
    assert project["page_cut"] is True
    assert len(drafts) == 10
    assert "content" not in drafts[0]
    assert len(str(answer.content)) < 20_000


async def test_outside_a_session_there_is_still_the_user(store: Store) -> None:
    """S4: a call outside a run is told what is known without one."""
    project = shown(await call(store, "fetch_project_context", {}))
    assert (project["session"], project["page"], project["profile"], project["drafts"]) == (None, [], {}, [])
