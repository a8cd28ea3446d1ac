"""The store port: `Repository` is the Store on any database, `open_store` opens one."""

import inspect
import logging
from collections.abc import AsyncIterable, Awaitable, Callable
from functools import partial, wraps
from pathlib import Path
from types import CoroutineType
from typing import Concatenate, ParamSpec, TypeVar

from agio.core.document import Added, NewVersion
from agio.core.file import FileQuota, FileRecord
from agio.core.identity.principal import Principal
from agio.core.identity.worker_key import WorkerKey
from agio.core.store.audit import ACTOR
from agio.core.store.records import Accepted, ForkLimits, Limits, SessionRecord, Submission
from agio.core.store.repository import Append
from agio.db.audited import AUDITED, expire_session
from agio.db.documents import begin_version, clean_index, remove_collection, remove_document
from agio.db.documents import sweep as sweep_documents
from agio.db.executor import Executor
from agio.db.files import keep_file, sweep_unused
from agio.db.forks import copy_session, find_forked, fork_key, give_up
from agio.db.plan import Plan
from agio.db.plans.agents import (
    agents,
    definitions,
    drafts,
    inline,
    mcp,
    mcp_oauth,
    providers,
    secrets,
    tools,
)
from agio.db.plans.documents import collections, documents, ingestion
from agio.db.plans.documents import search as document_search
from agio.db.plans.jobs import jobs, leases
from agio.db.plans.memories import extraction, memories, passages, suggestions
from agio.db.plans.people import accounts, audit, identities, identity, profiles, teams, workers
from agio.db.plans.people.audit import audited
from agio.db.plans.runs import acceptance, claims, inputs, log, paths, runs
from agio.db.plans.sessions import files, fork_source, forks, retention, sessions
from agio.db.records import now_ms
from agio.db.sqlite.executor import open_sqlite
from agio.errors import StoreError

P = ParamSpec("P")
_log = logging.getLogger("agio.db")

T = TypeVar("T")


def _write(
    plan: Callable[P, Plan[T]], audit: str = ""
) -> "Callable[Concatenate[Repository, P], CoroutineType[None, None, T]]":
    """Make a method of a plan that writes; `audit` is its action in the audit log if there is an actor."""
    rule = AUDITED[audit] if audit else None
    signature = inspect.signature(plan)

    @wraps(plan)
    async def method(self: "Repository", *args: P.args, **kwargs: P.kwargs) -> T:
        if rule is None or (actor := ACTOR.get()) is None:
            return await self.executor.write(lambda: plan(*args, **kwargs))
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        tell = partial(audited, audit, rule, actor, given.arguments)
        return await self.executor.write(lambda: tell(lambda: plan(*args, **kwargs)))

    return method


def _read(plan: Callable[P, Plan[T]]) -> "Callable[Concatenate[Repository, P], CoroutineType[None, None, T]]":
    """Make a method of a plan that reads."""

    @wraps(plan)
    async def method(self: "Repository", *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.executor.read(lambda: plan(*args, **kwargs))

    return method


async def open_store(path: str | Path, *, read_only: bool = False, beside: bool = False) -> "Repository":
    """Open the store in a file, making it if need be, or a new one in memory (`":memory:"`).

    Read-only needs no lock: it reads beside the writer. With `beside` a store that is there is also written without
    the lock: only what is no part of a run, since the lock's holder keeps running runs in memory.

    Raises StoreError `store_locked`, `store_corrupt`, `store_newer`, `store_older`,
    `store_prerelease`, `store_unavailable`.
    """
    return Repository(await open_sqlite(path, read_only=read_only, beside=beside))


class Repository:
    """Everything agio keeps. Each method is a plan of the same name, run as one transaction or as a read."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    # The log

    def append(self, write: Append) -> Awaitable[None]:
        """Make a frame durable; the result is done after the commit.

        It fails with StoreError `stale_epoch`, `sequence_gap`, `append_conflict`, `run_ended`, `run_exists`,
        `thread_busy`, `invalid_frame`, `not_storable`, `store_full`, `store_failed`; UserError `run_not_found`.
        """
        return self.executor.append(write)

    create_run = _write(runs.create_run)
    claim_run = _write(runs.claim_run)
    find_tool = _read(runs.find_tool)
    begin_tool = _write(runs.begin_tool)
    end_tool = _write(runs.end_tool)
    get_run = _read(log.get_run)
    get_log = _read(log.get_log)
    get_events = _read(log.get_events)
    list_runs = _read(log.list_runs)
    find_run = _read(log.find_run)
    show_run = _read(log.show_run)
    find_alias = _read(log.find_alias)
    find_runs = _read(log.find_runs)
    history = _read(paths.history)
    run_inputs = _read(inputs.run_inputs)
    branches = _read(paths.branches)
    path_of = _read(paths.path_of)
    run_definition = _read(definitions.pinned)
    read_session = _read(log.read_session)
    read_run = _read(log.read_run)
    list_tool_executions = _read(log.list_tool_executions)

    # Identity

    add_tenant = _write(identity.add_tenant)
    get_tenant = _read(identity.get_tenant)
    set_retention = _write(retention.set_retention, audit="tenant.retention")
    add_user = _write(identity.add_user)
    get_user = _read(identity.get_user)
    add_api_key = _write(identity.add_api_key, audit="key.create")
    list_api_keys = _read(identity.list_api_keys)
    revoke_api_key = _write(identity.revoke_api_key, audit="key.revoke")
    add_web_session = _write(identity.add_web_session, audit="sign_in")
    find_web_session = _read(identity.find_web_session)
    end_web_session = _write(identity.end_web_session, audit="sign_out")
    refresh_web_session = _write(identity.refresh_web_session)
    switch_tenant = _write(identity.switch_tenant, audit="sign_in.switch")
    end_web_sessions = _write(identity.end_web_sessions, audit="account.sign_out")
    end_user_sessions = _write(identity.end_user_sessions, audit="user.sign_out")
    find_credentials = _read(identity.find_credentials)
    sweep = _write(identity.sweep)

    async def find_api_key(self, key_hash: bytes) -> Principal | None:
        """The principal of a key; None if it is unknown, revoked or expired. Notes its use, at most once a minute."""
        found = await self.executor.read(lambda: identity.find_api_key(key_hash))
        if found is None:
            return None
        principal, noted_at = found
        if noted_at is None or now_ms() - noted_at >= identity.NOTED_EVERY_MS:
            try:
                await self.executor.write(lambda: identity.note_api_key(key_hash))
            except StoreError as error:  # a store that cannot be written can still be read
                _log.warning("the use of a key could not be noted: %s", error)
        return principal

    # Workers

    add_worker_key = _write(workers.add_worker_key, audit="worker_key.create")
    list_worker_keys = _read(workers.list_worker_keys)
    revoke_worker_key = _write(workers.revoke_worker_key, audit="worker_key.revoke")

    async def find_worker_key(self, key_hash: bytes) -> WorkerKey | None:
        """The key with this hash, unless it was revoked. Notes its use, at most once a minute."""
        key = await self.executor.read(lambda: workers.find_worker_key(key_hash))
        if key is not None and (
            key.last_used_at is None or now_ms() - key.last_used_at >= identity.NOTED_EVERY_MS
        ):
            try:
                await self.executor.write(lambda: workers.note_worker_key(key_hash))
            except StoreError as error:
                _log.warning("the use of a worker's key could not be noted: %s", error)
        return key

    # People and their teams

    add_sign_in_link = _write(accounts.add_sign_in_link, audit="sign_in.link")
    take_sign_in_link = _write(accounts.take_sign_in_link)
    has_account = _read(accounts.has_account)
    create_account = _write(accounts.create_account, audit="account.create")
    get_account = _read(accounts.get_account)
    find_account = _read(accounts.find_account)
    find_identity = _read(accounts.find_identity)
    add_identity = _write(accounts.add_identity, audit="account.identity")
    join_by_identity = _write(accounts.join_by_identity, audit="member.join")
    join_by_invitation = _write(identities.join_by_invitation, audit="invitation.accept")
    create_account_by_identity = _write(identities.create_account_by_identity, audit="account.create")
    list_identities = _read(identities.list_identities)
    remove_identity = _write(identities.remove_identity, audit="account.unlink")
    change_account = _write(accounts.change_account, audit="account.change")
    set_password = _write(accounts.set_password, audit="account.password")
    memberships = _read(accounts.memberships)
    add_sign_in_flow = _write(accounts.add_sign_in_flow)
    take_sign_in_flow = _write(accounts.take_sign_in_flow)
    create_tenant = _write(teams.create_tenant, audit="tenant.create")
    rename_tenant = _write(teams.rename_tenant, audit="tenant.rename")
    set_sdk_sessions = _write(teams.set_sdk_sessions, audit="tenant.sdk_sessions")
    list_members = _read(teams.list_members)
    set_role = _write(teams.set_role, audit="member.role")
    remove_member = _write(teams.remove_member, audit="member.remove")
    add_invitation = _write(teams.add_invitation, audit="invitation.create")
    list_invitations = _read(teams.list_invitations)
    find_invitation = _read(teams.find_invitation)
    revoke_invitation = _write(teams.revoke_invitation, audit="invitation.revoke")
    accept_invitation = _write(teams.accept_invitation, audit="invitation.accept")

    # Agents

    list_agents = _read(agents.list_agents)
    name_agents = _read(agents.name_agents)
    get_agent = _read(agents.get_agent)
    library_agent = _write(agents.library_agent)
    create_agent = _write(agents.create_agent, audit="agent.create")
    update_agent = _write(agents.update_agent, audit="agent.update")
    delete_agent = _write(agents.delete_agent, audit="agent.delete")
    put_code_agents = _write(agents.put_code_agents)

    # Tools

    list_tool_definitions = _read(tools.list_tool_definitions)
    get_tool_definition = _read(tools.get_tool_definition)
    find_tool_definition = _read(tools.find_tool_definition)
    create_tool_definition = _write(tools.create_tool_definition, audit="tool.create")
    update_tool_definition = _write(tools.update_tool_definition, audit="tool.update")
    delete_tool_definition = _write(tools.delete_tool_definition, audit="tool.delete")
    assign_tool = _write(tools.assign_tool, audit="agent.assign")
    unassign_tool = _write(tools.unassign_tool, audit="agent.unassign")
    list_tool_uses = _read(tools.list_tool_uses)
    begin_tool_request = _write(tools.begin_tool_request, audit="tool_call.execute")
    end_tool_request = _write(tools.end_tool_request)

    # MCP servers

    list_mcp_servers = _read(mcp.list_mcp_servers)
    get_mcp_server = _read(mcp.get_mcp_server)
    create_mcp_server = _write(mcp.create_mcp_server, audit="mcp_server.create")
    update_mcp_server = _write(mcp.update_mcp_server, audit="mcp_server.update")
    delete_mcp_server = _write(mcp.delete_mcp_server, audit="mcp_server.delete")
    list_mcp_tools = _read(mcp.list_mcp_tools)
    see_mcp_tools = _write(mcp.see_mcp_tools)
    choose_mcp_tool = _write(mcp.choose_mcp_tool, audit="mcp_tool.choose")
    find_mcp_call = _read(mcp.find_mcp_call)
    assign_mcp_server = _write(mcp.assign_mcp_server, audit="agent.assign_server")

    list_mcp_connections = _read(mcp_oauth.list_mcp_connections)
    find_mcp_connection = _read(mcp_oauth.find_mcp_connection)
    connect_mcp_server = _write(mcp_oauth.connect_mcp_server, audit="mcp_server.connect")
    renew_mcp_connection = _write(mcp_oauth.renew_mcp_connection)
    disconnect_mcp_server = _write(mcp_oauth.disconnect_mcp_server, audit="mcp_server.disconnect")
    put_mcp_client = _write(mcp_oauth.put_mcp_client)

    # Profiles and drafts

    get_profile = _read(profiles.get_profile)
    put_profile = _write(profiles.put_profile)
    write_draft = _write(drafts.write_draft)
    list_drafts = _read(drafts.list_drafts)
    get_draft = _read(drafts.get_draft)
    list_draft_versions = _read(drafts.list_draft_versions)
    get_draft_version = _read(drafts.get_draft_version)
    delete_draft = _write(drafts.delete_draft)

    # Providers and secrets

    list_providers = _read(providers.list_providers)
    get_provider = _read(providers.get_provider)
    find_provider = _read(providers.find_provider)
    create_provider = _write(providers.create_provider, audit="provider.create")
    update_provider = _write(providers.update_provider, audit="provider.update")
    delete_provider = _write(providers.delete_provider, audit="provider.delete")
    get_secret = _read(secrets.get_secret)
    secrets_of = _read(secrets.secrets_of)
    secrets_to_rotate = _read(secrets.secrets_to_rotate)
    replace_secrets = _write(secrets.replace_secrets, audit="secrets.rotate")
    count_secrets = _read(secrets.count_secrets)

    # Agents of one session

    find_agent = _read(inline.find_agent)
    start_inline_session = _write(inline.start_inline_session)
    find_inline_session = _read(inline.find_inline_session)
    change_inline_agent = _write(inline.change_inline_agent)

    # Sessions

    list_sessions = _read(sessions.list_sessions)
    start_session = _write(sessions.start_session)
    get_session = _read(sessions.get_session)
    update_session = _write(sessions.update_session)
    delete_session = _write(sessions.delete_session, audit="session.delete")
    _finish_fork = _write(forks.finish_fork, audit="session.fork")
    list_messages = _read(sessions.list_messages)
    last_messages = _read(sessions.last_messages)
    find_messages = _read(sessions.find_messages)
    list_interrupts = _read(sessions.list_interrupts)
    expire_interrupts = _write(sessions.expire_interrupts)

    async def fork_session(
        self,
        tenant: str,
        user: str,
        session_id: str,
        before: str,
        *,
        title: str | None = None,
        key: str | None = None,
        limits: ForkLimits | None = None,
    ) -> SessionRecord:
        """Copy a session up to, and without, a message of the user's; the copy is hidden until it is complete.

        The same key and request return the same copy. Raises UserError `session_not_found`, `message_not_found`,
        `session_busy`, `agent_inactive`, `session_too_large`, `idempotency_conflict`, `session_deleted`.
        """
        known = None if key is None else fork_key(key, before, title)
        find_known = partial(find_forked, self.executor, tenant, user, session_id, known)
        if (made := await find_known()) is not None:
            return made
        find = partial(fork_source.find_source, tenant, user, session_id, before, title, limits)
        fork = await self.executor.read(find)
        await copy_session(self.executor, fork)
        try:
            return await self._finish_fork(tenant, user, fork, known)
        except Exception as error:
            await give_up(self.executor, fork)
            if isinstance(error, forks.KeyTaken) and (made := await find_known()) is not None:
                return made
            raise

    async def delete_old_sessions(self, tenant: str, limit: int = 50) -> list[str]:
        """Delete a tenant's sessions past its retention time; returns their ids.

        Each in its own commit, so that other writes do not wait long.
        """
        deleted: list[str] = []
        found = await self.executor.read(partial(retention.old_sessions, tenant, limit))
        for _, user, session_id in found:
            delete = partial(expire_session, tenant, user, session_id)
            try:
                if await self.executor.write(delete):
                    deleted.append(session_id)
            except StoreError as error:
                if not deleted:
                    raise
                _log.warning("an old session could not be deleted: %s", error)
                break  # report those that were deleted
        return deleted

    # Memories

    list_memories = _read(memories.list_memories)
    get_memory = _read(memories.get_memory)
    find_memories = _read(memories.find_memories)
    has_memories = _read(memories.has_memories)
    add_memory = _write(memories.add_memory, audit="memory.create")
    change_memory = _write(memories.change_memory, audit="memory.update")
    delete_memory = _write(memories.delete_memory, audit="memory.delete")
    forget_user = _write(memories.forget_user, audit="memory.forget")
    use_memories = _write(memories.use_memories)
    suggest_memory = _write(suggestions.suggest_memory)
    list_suggestions = _read(suggestions.list_suggestions)
    approve_suggestion = _write(suggestions.approve_suggestion, audit="memory.approve")
    approve_suggestions = _write(suggestions.approve_suggestions, audit="memory.approve_all")
    reject_suggestion = _write(suggestions.reject_suggestion, audit="memory.reject")
    change_suggestion = _write(suggestions.change_suggestion)
    new_suggestions = _write(suggestions.new_suggestions)
    close_session = _write(extraction.close_session)
    session_to_extract = _read(extraction.session_to_extract)
    find_said = _read(extraction.find_said)
    sessions_of_agent = _read(extraction.sessions_of_agent)
    session_passages = _read(extraction.session_passages)
    find_session_agent = _read(extraction.find_session_agent)
    waits_for_extraction = _read(extraction.waits_for_extraction)
    keep_extraction = _write(extraction.keep_extraction)
    spend_extraction = _write(extraction.spend_extraction)
    put_passages = _write(passages.put_passages)
    passages_to_embed = _read(passages.passages_to_embed)
    put_vectors = _write(passages.put_vectors)

    # Documents

    create_collection = _write(collections.create_collection, audit="collection.create")
    list_collections = _read(collections.list_collections)
    get_collection = _read(collections.get_collection)
    change_collection = _write(collections.change_collection, audit="collection.update")
    _hide_collection = _write(collections.hide_collection, audit="collection.delete")
    add_site = _write(documents.add_site, audit="document.site")
    list_documents = _read(documents.list_documents)
    get_document = _read(documents.get_document)
    list_versions = _read(documents.list_versions)
    read_document_bytes = _read(documents.read_document_bytes)
    read_passages = _read(documents.read_passages)
    outline = _read(documents.outline)
    cancel_ingestion = _write(documents.cancel_ingestion, audit="document.cancel")
    _hide_document = _write(documents.hide_document, audit="document.delete")
    drop_version = _write(documents.drop_version)
    find_documents = _read(document_search.find_documents)
    library = _read(document_search.library)
    whole_library = _read(document_search.whole_library)
    library_documents = _read(document_search.library_documents)
    number_passages = _write(document_search.number_passages)
    passages_of_run = _read(document_search.passages_of_run)
    version_to_ingest = _read(ingestion.version_to_ingest)
    read_version_chunk = _read(ingestion.read_version_chunk)
    put_version_bytes = _write(ingestion.put_version_bytes)
    note_progress = _write(ingestion.note_progress)
    put_document_passages = _write(ingestion.put_document_passages)
    publish_version = _write(ingestion.publish_version)
    end_ingestion = _write(ingestion.end_ingestion)
    _finish_version = _write(documents.finish_version, audit="document.add")

    async def add_document(
        self, tenant: str, user: str, new: NewVersion, chunks: AsyncIterable[bytes], *, team: bool = False
    ) -> Added:
        """Add a version of a document; it is ingested when it is complete."""
        begun = await begin_version(self.executor, tenant, user, new, team=team)
        if begun.version_id is None:
            return Added(await self.get_document(tenant, user, begun.document_id), is_new=False)
        async with begun.written(chunks) as rest:
            return await self._finish_version(tenant, user, begun.document_id, begun.version_id, *rest)

    async def delete_document(self, tenant: str, user: str, document_id: str, *, team: bool = False) -> None:
        """Hide a document, then remove it in short commits. A sweep ends what a crash leaves."""
        await self._hide_document(tenant, user, document_id, team=team)
        await remove_document(self.executor, tenant, document_id)

    async def delete_collection(
        self, tenant: str, user: str, collection_id: str, *, team: bool = False
    ) -> None:
        """Hide a collection, then remove it with its documents."""
        await self._hide_collection(tenant, user, collection_id, team=team)
        await remove_collection(self.executor, tenant, collection_id)

    async def clean_index(self, tenant: str, document_id: str) -> None:
        """Remove from the index the versions of a document that ended and are not published."""
        await clean_index(self.executor, tenant, document_id)

    async def sweep_documents(self, before: int, limit: int = 50) -> int:
        """Remove what deletions and uploads that broke off before a time (ms) left; returns how many."""
        return await sweep_documents(self.executor, before, limit)

    # Files

    get_file = _read(files.get_file)
    put_file_text = _write(files.put_file_text)
    read_file = _read(files.read_file)
    read_session_file = _read(files.read_session_file)
    delete_file = _write(files.delete_file, audit="file.delete")

    async def add_file(self, record: FileRecord, chunks: AsyncIterable[bytes], quota: FileQuota) -> None:
        """Store a file; it is hidden until it is complete."""
        await keep_file(self.executor, record, chunks, quota)

    async def sweep_files(self, before: int, limit: int = 50) -> int:
        """Delete files uploaded before a time (ms) that no message refers to; returns how many."""
        return await sweep_unused(self.executor, before, limit)

    # Background jobs and leases

    add_job = _write(jobs.add_job)
    arm_job = _write(jobs.arm_job)
    next_job = _read(jobs.next_job)
    claim_job = _write(jobs.claim_job)
    renew_job = _write(jobs.renew_job)
    finish_job = _write(jobs.finish_job)
    finish_retention = _write(retention.finish_retention)
    fail_job = _write(jobs.fail_job)
    release_job = _write(jobs.release_job)
    bury_unknown_jobs = _write(jobs.bury_unknown_jobs)
    list_jobs = _read(jobs.list_jobs)
    retry_job = _write(jobs.retry_job, audit="job.retry")
    count_jobs = _read(jobs.count_jobs)
    acquire_lease = _write(leases.acquire_lease)
    renew_lease = _write(leases.renew_lease)
    release_lease = _write(leases.release_lease)

    # The audit log

    list_audit = _read(audit.list_audit)
    note_failed_sign_in = _write(audit.note_failed_sign_in, audit="sign_in.fail")

    # Accepting and claiming

    _take_in = _write(acceptance.accept)
    _take_answers = _write(acceptance.accept, audit="tool_call.answer")
    claim_next = _write(claims.claim_next)
    reclaim = _write(claims.reclaim)
    give_back = _write(claims.give_back)
    request_cancel = _write(claims.request_cancel)
    running_runs = _read(log.running_runs)
    count_runs = _read(log.count_runs)

    async def accept(self, tenant: str, user: str, given: Submission, limits: Limits) -> Accepted:
        """Accept a message into its session. Answers to questions about calls are recorded in the audit log."""
        take = self._take_answers if given.resume else self._take_in
        return await take(tenant, user, given, limits)

    async def check(self) -> None:
        """Raise StoreError if the store cannot be read or written now."""
        self.executor.check_room()
        await self.executor.read(log.count_runs)
        await self.executor.write(identity.touch_store)

    async def close(self) -> None:
        """Write pending appends and close the store."""
        await self.executor.close()
