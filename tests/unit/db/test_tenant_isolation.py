"""Every named query, run by a stranger on somebody's rows, finds and changes nothing."""

import re
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import msgspec
import pytest
from msgspec import structs

from agio.core.document import Counts, NewVersion, PassageFields
from agio.core.draft import DraftWrite
from agio.core.file import FileQuota
from agio.core.http_tool import HttpTool, ToolRequest
from agio.core.identity.account import Account
from agio.core.identity.principal import ApiKey, WebSession
from agio.core.identity.team import Invitation
from agio.core.mcp import McpOffer, McpServerFields, McpToolChoice
from agio.core.memory import MemoryFields, MemorySource
from agio.core.provider import ProviderFields, Sealed
from agio.core.store.audit import ACTOR, Actor
from agio.core.store.jobs import NewJob
from agio.core.store.records import AgentTool
from agio.core.store.repository import Append, ToolBegin
from agio.db.plan import ask
from agio.db.plans.documents.collections import hide_collection
from agio.db.plans.documents.documents import begin_version, hide
from agio.db.plans.memories.memories import memory_place, text_digest
from agio.db.plans.runs.log import BEYOND_ALL
from agio.db.plans.sessions.files import begin_file
from agio.db.plans.sessions.sessions import hash_key
from agio.db.postgres.driver import Connection as PostgresConnection
from agio.db.postgres.driver import connect
from agio.db.postgres.executor import open_postgres
from agio.db.queries import load_queries, number_parameters, parameters_of
from agio.db.records import agent_values
from agio.db.repository import Repository, open_store
from agio.db.sqlite.connector import Connection
from agio.db.sqlite.database import open_writable
from agio.protocol.messages import UserMessage
from tests.support.backends import turn
from tests.support.scenes import WORKER, agent_fields, events, interrupt, person
from tests.support.uploads import file_record, pieces, upload

WITHOUT_TENANT = {
    "the schema, or the store as a whole": (
        "count_tables has_migrations create_migrations applied_migrations add_migration remove_migration any_api_key "
        "any_account count_all next_tenant running_runs copy_store newest_run_at server_version server_time"
    ),
    "what is over, of every tenant": (
        "sweep_keys sweep_web_sessions sweep_sign_in_links sweep_sign_in_flows expire_interrupts "
        "sweep_tool_requests sweep_forks sweep_jobs sweep_leases"
    ),
    "by the hash of a secret, which says who asks": (
        "find_worker_key note_worker_key find_api_key note_api_key find_web_session end_web_session "
        "refresh_web_session "
        "take_sign_in_link take_sign_in_flow add_sign_in_flow find_invitation take_invitation"
    ),
    "a person's own, whose account the credential says": "list_identities remove_identities lock_account",
    "for the operator, at the command line": (
        "secrets_to_rotate count_secrets add_worker_key list_worker_keys revoke_worker_key"
    ),
    "a file that was begun for its user, and files that no message refers to": (
        "add_file_chunk unused_files delete_unused_file"
    ),
    "credentials that were let in, by their ids": "find_credentials",
    "a copy that is being made, of a session that the plan found for its user": (
        "note_fork copy_run messages_between copy_message turns_between tools_between copy_tool interrupts_between "
        "log_sizes logs_between copy_interrupt copy_file copy_file_chunks forget_copied_file "
        "hand_over_session hand_over_runs hand_over_files end_fork drop_fork"
    ),
    "a person, who may be in several tenants, by what they have proved": (
        "add_account get_account find_account change_account rename_users set_password replace_password "
        "find_identity add_identity memberships end_web_sessions"
    ),
    "the plan found agent and tool in the tenant": "add_assignment put_assignment",
    "the plan locked the draft for its user": "add_draft_version",
    "the plan locked the session for its user": (
        "open_interrupts interrupt_state close_interrupt newest_title move_leaf pending_of_run"
    ),
    "a run that is claimed, or whose claim is being made": (
        "put_message place_messages queued_input session_head start_run fail_queued claim_state "
        "take_over raise_epoch give_back end_run settle_session open_interrupt lock_run put_turn get_tool begin_tool "
        "find_turn charge_run newest_input add_input waiting_inputs consume_inputs drop_inputs requeue_run "
        "move_message end_tool put_definition get_definition delete_definitions raise_level"
    ),
    "a program's own store, or a caller that checked": (
        "get_run list_runs list_runs_of_session list_runs_of_agent list_runs_of_session_and_agent place_of_run "
        "lock_owner run_at runs_from runs_before path_to tree_of_session read_turns"
    ),
    "a session or run that the plan found for its user, or that a job is about": (
        "arm_extraction extraction_state runs_to_extract messages_to_extract mark_extracted announce_suggestions "
        "suggestions_by_id use_memory count_use"
    ),
    "passages of every tenant, for the job that makes their vectors": (
        "passages_to_embed mark_embedded put_vector"
    ),
    "a version that a job ingests, or that was begun for its user": (
        "add_document_chunk finish_version version_to_ingest set_version_content clear_chunks published_digest "
        "note_progress publish_version point_to_version supersede_versions supersede_version fail_version"
    ),
    "what deletions and uploads of every tenant left": (
        "deleted_documents deleted_collections unfinished_versions"
    ),
    "a run that is claimed": "passages_of_run",
    "jobs of every tenant, and those that a gateway has claimed": (
        "next_job claim_job renew_job complete_job stop_job fail_job release_job bury_unknown_jobs count_jobs"
    ),
    "a server's own leases": "acquire_lease renew_lease release_lease",
    "the log, under the fence": (
        "live_runs move_last_seq put_log read_logs append_tail trim_tail read_tail append_frames store_frame "
        "take_frames read_frames lock_sessions_of_runs"
    ),
}
"""Queries that do not bind the tenant, and why they need not."""
EXEMPT = {name for names in WITHOUT_TENANT.values() for name in names.split()}


class Rows(Protocol):
    """A database somebody has filled."""

    dialect: str

    async def ask(self, query: str, values: Mapping[str, object]) -> list[tuple[object, ...]]:
        """Run a named query."""
        ...

    async def dump(self) -> set[tuple[object, ...]]:
        """Every row there is, with its table's name."""
        ...

    async def undo(self) -> None:
        """Take back what was changed since the last time."""
        ...


def _hashable(value: object) -> object:
    return repr(cast("object", value)) if isinstance(value, list) else value


class SqliteRows:
    """The rows of a SQLite file."""

    dialect = "sqlite"

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.connection.execute("begin")

    async def ask(self, query: str, values: Mapping[str, object]) -> list[tuple[object, ...]]:
        bound = {
            name: msgspec.json.encode(value).decode() if isinstance(value, list) else value
            for name, value in values.items()
        }
        return self.connection.execute(load_queries("sqlite")[query], bound).fetchall()

    async def dump(self) -> set[tuple[object, ...]]:
        tables = self.connection.execute("select name from sqlite_schema where type = 'table'").fetchall()
        return {
            (table, *row)
            for (table,) in tables
            for row in self.connection.execute(f"select * from {table}").fetchall()
        }

    async def undo(self) -> None:
        self.connection.execute("rollback; begin")


class PostgresRows:
    """The rows of a Postgres database."""

    dialect = "postgres"

    def __init__(self, connection: PostgresConnection) -> None:
        self.connection = connection

    async def ask(self, query: str, values: Mapping[str, object]) -> list[tuple[object, ...]]:
        numbered = number_parameters(load_queries("postgres")[query])
        return [
            tuple(row)
            for row in await self.connection.fetch(numbered.sql, *(values[name] for name in numbered.names))
        ]

    async def dump(self) -> set[tuple[object, ...]]:
        tables = await self.connection.fetch(
            "select table_name from information_schema.tables where table_schema = 'public'"
        )
        return {
            (table, *(_hashable(value) for value in row))
            for (table,) in tables
            for row in await self.connection.fetch(f"select * from {table}")
        }

    async def undo(self) -> None:
        await self.connection.execute("rollback; begin")


@pytest.fixture(params=["sqlite", "postgres"])
async def rows(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[Rows, dict[str, object]]]:
    """A database in which Ann of `a` has one of everything; Ben is of her tenant, Bob of another."""
    if request.param == "sqlite":
        store = await open_store(tmp_path / "agio.db")
        values = await _fill(store)
        await store.close()
        connection, lock = open_writable(tmp_path / "agio.db")
        yield SqliteRows(connection), values
        connection.close()
        assert lock is not None
        lock.release()
    else:
        url: str = request.getfixturevalue("postgres_url")
        store = Repository(await open_postgres(url))
        values = await _fill(store)
        await store.close()
        opened = await connect(url)
        await opened.execute("begin")
        yield PostgresRows(opened), values
        await opened.close()


def test_what_does_not_bind_the_tenant_is_known() -> None:
    """S14: a query without a tenant is on the list, with a reason; none on the list binds one."""
    for dialect in ("sqlite", "postgres"):
        queries = {name: query for name, query in load_queries(dialect).items() if query}
        without = {name for name, query in queries.items() if "tenant" not in parameters_of(query)}
        assert without <= EXEMPT
        assert not EXEMPT & (set(queries) - without)
    assert load_queries("sqlite").keys() | load_queries("postgres").keys() >= EXEMPT


async def test_a_stranger_finds_and_changes_nothing(rows: tuple[Rows, dict[str, object]]) -> None:
    """S14: each query with a tenant, with all of Ann's ids: as Bob of another tenant, as Ben of her own."""
    database, values = rows
    before = await database.dump()
    for name, query in load_queries(database.dialect).items():
        strangers = [("b", "bob")]
        if name in (
            "get_user",
            "get_member",
            "set_role",
            "remove_user",
            "reinstate_user",
        ):  # Bob himself is there
            strangers = [("b", "ann")]
        elif name in (
            "get_tenant",
            "set_retention",
            "set_sdk_sessions",
            "rename_tenant",
            "list_members",
        ):  # so is Bob's own tenant
            strangers = [("c", "bob")]
        elif "user_id" in parameters_of(query) and name != "count_active":  # which counts the tenant's runs
            strangers.append(("a", "ben"))
        for tenant, user in strangers if name not in EXEMPT else []:
            found = await database.ask(name, {**_values(name, values), "tenant": tenant, "user_id": user})
            assert all(value in (0, None, tenant) for row in found for value in row), (
                name,
                tenant,
                user,
                found,
            )
            assert before <= await database.dump(), (name, tenant, user)
            await database.undo()


async def test_the_same_query_finds_or_changes_what_is_ones_own(rows: tuple[Rows, dict[str, object]]) -> None:
    """S14: what strangers are kept from is there: Ann finds it."""
    database, values = rows
    before = await database.dump()
    for name, query in load_queries(database.dialect).items():
        if not query or name in EXEMPT or query.startswith("insert") or name == "touch_store":
            continue
        found = await database.ask(name, _values(name, values))
        if re.search("^(update|delete)", query, re.MULTILINE):
            assert await database.dump() != before, name
            await database.undo()
        else:
            assert any(value not in (0, None) for row in found for value in row), name


def _values(name: str, values: Mapping[str, object]) -> dict[str, object]:
    """Ann's values, as a query means them."""
    meant: dict[str, dict[str, object]] = {
        "tool_by_name": {"name": "clock"},
        "find_provider": {"name": "models"},
        "list_queued_messages": {"run_number": 0},
        "last_messages": {"pos": BEYOND_ALL},
        "last_path_messages": {"pos": BEYOND_ALL},
        "add_run": {"definition": None},
        "last_queued_messages": {"run_number": BEYOND_ALL},
        "message_of_run": {"run_id": values["queued_run"]},
        "runs_ahead": {"run_id": values["queued_run"]},
        "list_tool_executions": {"started_at": -1, "key": ""},
        "old_sessions": {"now": BEYOND_ALL},
        "list_jobs": {"state": "dead", "kind": "note", "created_at": BEYOND_ALL},
        "find_alias": {"alias": "run-alias"},
        "find_key": {"kind": "key", "scope": values["session_id"], "hash": hash_key("k")},
        "retire_agent": {"agent_id": values["code_agent"]},
        "revoke_invitation": {"id": "inv_a"},
        "next_run": {"code_agents": ["in-code"]},
        "old_session": {"session_id": values["old_session"], "now": BEYOND_ALL},
        "inline_session": {"agent_id": values["inline_agent"], "alias": "inline"},
        "forget_inline_agent": {"agent_id": values["inline_agent"]},
        "revive_inline_agent": {"agent_id": values["forgotten_agent"]},
        "begin_file": {"file_id": "file_new"},
        "finish_file": {"file_id": values["open_file"]},
        "attach_file": {"file_id": values["free_file"]},
        "read_file": {"idx": 0},
        "read_session_file": {"idx": 0},
    }
    at: dict[str, object] = {
        "places": [values["place"]],
        "words": ["know"],
        "total": 1,
        "until": BEYOND_ALL,
    }
    said: dict[str, object] = {
        "content": "x",
        "memory_type": "fact",
        "importance": 0.5,
        "observed_at": 1,
        "created_by": None,
    }
    meant |= {
        "list_memories": {"created_at": BEYOND_ALL, "memory_type": None, "scope": None},
        "list_suggestions": {"created_at": BEYOND_ALL},
        "add_memory": {**said, "id": values["memory_id"]},
        "change_memory": {**said, "owner": "ann"},
        "add_suggestion": {**said, "id": values["suggestion_id"], "supersedes": None},
        "change_suggestion": said,
        "memory_by_text": {"digest": text_digest("ann", str(values["agent_id"]), "Knows more.")},
        "put_passage": {"kind": "memory", "item_id": "new", "at": 1, "text": "x", "stems": "x"},
        "drop_passage": {"kind": "memory", "item_id": values["memory_id"]},
        "passages_of_items": {"kind": "memory", "ids": [values["memory_id"]]},
        "live_memories": {"ids": [values["memory_id"]]},
        "find_vectors": {**at, "model": "m", "size": 2, "vector": [1.0, 0.0]},
        "decide_suggestion": {"state": "approved"},
        "supersede_memory": {"by": "mem_other"},
    }
    alike: dict[str, dict[str, object]] = {
        "find_words find_times count_passages": at,
        "forget_conversations": {},
        "memory_by_call suggestion_by_call": {"call_id": "call_m"},
        "get_tool_definition add_http_tool change_http_tool clear_assignments_of_tool": {"tool_id": "tool_a"},
        "touch_agents_of_tool": {"tool_id": "tool_a"},
        "delete_tool inherit_assignments": {"tool_id": "tool_spare"},
        "find_tool_definition delete_assignment own_tool_by_name agent_tool_by_name": {"name": "weather"},
        "find_mcp_server update_mcp_server": {"name": "shop"},
        "get_mcp_tool choose_mcp_tool name_mcp_agent_tool": {"tool_id": values["mcp_tool"]},
        "change_mcp_agent_tool add_mcp_agent_tool": {"tool_id": values["mcp_tool"]},
        "forget_mcp_tool": {"tool_id": values["mcp_new"]},
        "add_mcp_connection": {"connection_id": "mcpc_new"},
        "renew_mcp_connection": {"version": 1, "error": None},
        "list_drafts_of_kind move_draft": {"kind": "document"},
        "add_job arm_job": {"job_id": "job_new", "kind": "note", "key": "1"},
    }
    at_first: dict[str, object] = {"name": "", "document_id": "", "collection_id": ""}
    shelf: dict[str, dict[str, object]] = {
        "list_collections list_documents": {**at_first, "collection_id": None},
        "list_collections": at_first,
        "collection_by_name document_by_name": {"name": "Own", "owner": "ann"},
        "drop_collection documents_of_collection": {"collection_id": values["gone_collection"]},
        "drop_document": {"document_id": values["gone_document"]},
        "forget_empty_document": {"document_id": values["empty_document"]},
        "drop_version": {"version_id": values["open_version"]},
        "visible_collections size_of_library whole_library library_documents": {
            "ids": [values["collection_id"]]
        },
        "versions_of_documents": {"ids": [values["document_id"]]},
        "found_passages numbers_of_passages": {"ids": [values["passage_id"]]},
        "drop_indexed last_indexed": {"first": "ver_", "upto": "ver~"},
        "create_collection": {"collection_id": "col_new", "owner": None},
        "add_document": {"document_id": "doc_new", "name": "new"},
        "begin_version": {"version_id": "ver_new", "number": 9},
        "add_document_passage": {
            "id": "ver_new/9",
            "idx": 9,
            "text": "",
            "start_at": 0,
            "end_at": 0,
            "page": None,
            "line": None,
            "heading": "",
        },
        "put_file_text": {"text": b"text"},
        "read_document_chunk read_passages": {"idx": 0},
        "drop_document_passages": {"first": 0, "upto": 9},
    }
    alike |= shelf
    meant |= {name: values for names, values in alike.items() for name in names.split()}
    if name == "find_runs_ended_badly":
        meant[name] = {"status": "interrupted"}
    elif name.startswith("find_runs"):
        meant[name] = {"status": "queued"}
    return {**values, **meant.get(name, {})}


async def _documents(store: Repository, session_id: str, run_id: str) -> dict[str, object]:
    """Ann's own collection: a document with a replaced, a published and an open version, and what was deleted."""
    own, gone = [await store.create_collection("a", "ann", name, "", own=True) for name in ("Own", "Gone")]
    versions: list[str] = []
    document_id = ""
    for data in (b"one", b"two", b"three"):
        new = NewVersion(
            collection_id=own.id,
            name="Own",
            source="paste",
            format="text",
            media_type="text/plain",
            size=len(data),
            digest=data,
        )
        added = await store.add_document("a", "ann", new, pieces(data))
        assert added.document.newest is not None
        document_id = added.document.id
        versions.append(added.document.newest.id)
    for version_id in versions[:2]:
        version = await store.version_to_ingest(version_id)
        assert version is not None
        passage = PassageFields(idx=0, text="text", start=0, end=4, heading="Heading", page=1)
        assert await store.put_document_passages(version, [passage], 1)
        assert await store.publish_version(version_id, Counts(1, 4, 1, 1))
    passages = await store.read_passages("a", "ann", document_id, versions[1], 0, 9)
    await store.number_passages("a", session_id, run_id, passages)
    new = structs.replace(new, collection_id=gone.id)
    [deleted, empty] = [
        (await store.executor.write(partial(begin_version, "a", "ann", structs.replace(new, name=name))))
        for name in ("deleted", "empty")
    ]
    await store.executor.write(partial(ask, "drop_version", tenant="a", version_id=empty[1]))
    await store.executor.write(partial(hide, "a", deleted[0]))
    await store.executor.write(partial(hide_collection, "a", "ann", gone.id))
    return {
        "collection_id": own.id,
        "gone_collection": gone.id,
        "document_id": document_id,
        "gone_document": deleted[0],
        "empty_document": empty[0],
        "version_id": versions[1],
        "open_version": versions[2],
        "passage_id": passages[0].id,
        "owner": "ann",
        "url": None,
        "description": "",
        "format": "text",
        "number": 1,
    }


async def _fill(store: Repository) -> dict[str, object]:
    ann = await person(store, "a", "ann")
    await person(store, "a", "ben")
    await person(store, "b", "bob")
    await store.add_api_key(ApiKey("key_a", "a", "ann", "key", "agio_", 1), b"hash")
    await store.add_web_session(
        WebSession(
            id="web_a", tenant="a", user="ann", token_hash=b"token", authenticated_at=1, expires_at=BEYOND_ALL
        )
    )
    await store.add_user("a", "olga", "Olga", "owner")
    await store.set_role("a", "ann", "owner")
    await store.create_account(Account("acc_a", "ann@example.com", "Ann", None), "a", "ann")
    await store.add_sign_in_link("a", "ann", b"link", BEYOND_ALL)
    await store.add_invitation(
        Invitation(
            id="inv_a",
            tenant="a",
            email=None,
            role="member",
            invited_by="ann",
            created_at=1,
            expires_at=BEYOND_ALL,
        ),
        b"invitation",
    )
    await store.create_mcp_server("a", "mcp_a", McpServerFields(name="shop", url="https://a.example/"), {})
    offers = [McpOffer(name=name, description="", parameters={}) for name in ("buy", "look")]
    buy, look = await store.see_mcp_tools("a", "mcp_a", offers)
    sealed = Sealed("k", b"s")
    await store.connect_mcp_server("a", "mcp_a", "ann", "mcpc_a", "https://as.example", None, sealed)
    await store.choose_mcp_tool("a", "mcp_a", buy.id, McpToolChoice(), ["shop_buy"], offers[0].digest)
    agent = await ann.agent("helper", description="helps", tools=[AgentTool("clock")])
    [in_code] = await store.put_code_agents("a", [agent_fields("in-code")])
    http = HttpTool(description="", method="GET", url="https://example.com/", parameters={})
    await store.create_tool_definition("a", "tool_a", "weather", http, {})
    await store.create_tool_definition("a", "tool_spare", "spare", http, {})
    await store.assign_tool("a", agent.id, "weather", None)
    session = await ann.session(agent, alias="session-alias")
    request = ToolRequest(
        id="req_1", tool="clock", effect="once", digest=b"d", key_hash=b"key", session_id=session.id
    )
    await store.begin_tool_request("a", "ann", request)
    await store.put_profile("a", "ann", {"name": "Ann"})
    write = DraftWrite(key="plan", title="Plan", kind="document", content="x", call_id="call_1")
    draft = await store.write_draft("a", "ann", write)
    asked = await ann.send(session, "pay", claim=WORKER, alias="run-alias", key="k", digest=b"d")
    assert asked.claimed is not None
    await interrupt(store, asked.claimed, "int_1")
    other = await ann.session(agent)
    running = await ann.send(session, None, messages=[UserMessage(id="msg_1", content="go on")], claim=WORKER)
    begins = [ToolBegin("call_1", "clock")]
    await store.append(Append(events(running.run_id, 1, 2, 2), [turn(running.run_id, 1, 3)], begins=begins))
    queued = await ann.send(session)
    free = await ann.send(other)
    assert free.claimed is None
    old = await ann.session(agent)
    acting = ACTOR.set(Actor(tenant="a", user="ann", credential="key_a"))
    await store.set_retention("a", 1)
    ACTOR.reset(acting)
    await store.create_provider(
        "a", "prv_a", ProviderFields(name="models", kind="openai"), Sealed("key_1", b"sealed")
    )
    await store.add_job(NewJob(kind="note", key="1", tenant="a"))
    job = await store.claim_job(["note"], 3_600_000)
    assert job is not None
    await store.fail_job(job, "bad", "Bad.", None)
    inline, forgotten = [
        await store.start_inline_session("a", "ann", key, agent_fields("own"))
        for key in ("inline", "forgotten")
    ]
    await store.delete_session("a", "ann", forgotten.session.id)
    attached, free_file, unfinished = (
        await upload(ann, session_id=session.id),
        await upload(ann),
        file_record(ann),
    )
    await store.executor.write(partial(begin_file, unfinished, FileQuota()))
    source = MemorySource(session_id=session.id, run_id=running.run_id, call_id="call_m")
    before = await store.add_memory("a", "ann", agent.id, MemoryFields(content="Knows."), MemorySource())
    more = MemoryFields(content="Knows more.", supersedes=before.id)
    memory = await store.add_memory("a", "ann", agent.id, more, source)
    better = MemoryFields(content="Knows all.", supersedes=memory.id)
    suggestion = await store.suggest_memory("a", "ann", agent.id, better, source)
    assert suggestion is not None
    [passage] = await store.passages_to_embed("m", 0, 9)
    await store.put_vectors("m", [(passage, [1.0, 0.0])])
    await store.spend_extraction("a", 1, 1.0)
    held = await _documents(store, session.id, running.run_id)
    return {
        **held,
        "memory_id": memory.id,
        "suggestion_id": suggestion.id,
        "place": memory_place("a", "ann", agent.id),
        "day": time.time_ns() // (24 * 3600 * 10**9),
        "message_id": None,
        "memory_type": None,
        "tokens": 1,
        "cost": 1.0,
        "server_id": "mcp_a",
        "mcp_tool": buy.id,
        "mcp_new": look.id,
        "connection_id": "mcpc_a",
        "issuer": "https://as.example",
        "remote": "buy",
        "offered": b"{}",
        "accepted": b"{}",
        "choice": b"{}",
        **agent_values(agent_fields()),
        "job_id": job.id,
        "payload": b"",
        "delay_ms": 0,
        "draft_id": draft.id,
        "key": "plan",
        "call_id": "call_1",
        "version": 1,
        "content": None,
        "error": None,
        "key_hash": b"key",
        "tool": "clock",
        "effect": "once",
        "profile": b"{}",
        "definition": b"{}",
        "other_tool": "tool_a",
        "inline_agent": inline.agent.id,
        "forgotten_agent": forgotten.agent.id,
        "file_id": attached.id,
        "free_file": free_file.id,
        "open_file": unfinished.id,
        "action": "tenant.retention",
        "credential": "key_a",
        "address": "192.0.2.1",
        "request_id": "req_1",
        "object": "a",
        "details": "{}",
        "file_name": "a.txt",
        "media_type": "text/plain",
        "size": 1,
        "source": "stored",
        "tenant": "a",
        "user_id": "ann",
        "session_id": session.id,
        "run_id": running.run_id,
        "run_ids": [asked.run_id],
        "queued_run": queued.run_id,
        "leaf": running.run_id,
        "parent_run_id": None,
        "parent_seq": None,
        "branched": 0,
        "active_agent": "",
        "log_level": 1,
        "old_session": old.id,
        "days": 30,
        "needs": "use",
        "agent_id": agent.id,
        "code_agent": in_code.id,
        "agent_ids": [agent.id],
        "ids": ["msg_1"],
        "id": "key_a",
        "tool_id": "tool_b",
        "name": "helper",
        "alias": "session-alias",
        "pattern": "%h%",
        "needle": "o",
        "session_ids": [session.id, other.id],
        "around": 20,
        "span": 50,
        "status": "active",
        "limit": 100,
        "after": "",
        "before": BEYOND_ALL,
        "before_at": BEYOND_ALL,
        "upto": BEYOND_ALL,
        "user_ids": ["ann"],
        "updated_at": BEYOND_ALL,
        "queued_before": 0,
        "must_end": 0,
        "code_agents": [],
        "pos": -1,
        "run_number": -1,
        "idx": -1,
        "now": 99,
        "expected": None,
        "since": 0,
        "copies": True,
        "kind": "message",
        "scope": "scope",
        "hash": b"other hash",
        "digest": b"",
        "prefix": "agio_",
        "role": "admin",
        "email": None,
        "account_id": "acc_a",
        "invited_by": "ann",
        "but": "ann",
        "created_at": 1,
        "token_hash": b"other token",
        "expires_at": 1,
        "permissions": None,
        "made_by": None,
        "authenticated_at": 1,
        "title": "changed",
        "seen_pos": 1,
        "fork_id": "ses_fork",
        "nobody": "nobody",
        "on_busy": "refuse",
        "mark": "mark",
        "agent_name": "helper",
        "model": "demo",
        "epoch": 0,
        "first_pos": None,
        "started_at": None,
        "input": None,
        "worker": None,
        "provider_id": "prv_a",
        "base_url": None,
        "models": "[]",
        "owner_id": "prv_a",
        "field": "api_key",
        "key_id": "key_2",
        "sealed": b"sealed anew",
        "old_key_id": "key_1",
        "old_sealed": b"sealed",
    }
