"""The server's store port: `AgentRunRepository`, and identities, agents, sessions and the queue.

Implemented in db/ on SQLite and on Postgres. Every method that serves a person or a program takes the tenant
of its credential first and sees only that tenant's records. An id of another tenant is a UserError `..._not_found`.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from agio.core.document import DocumentStore
from agio.core.draft import DraftStore
from agio.core.file import FileStore
from agio.core.http_tool import ToolStore
from agio.core.identity.account import AccountStore
from agio.core.identity.principal import IdentityStore
from agio.core.identity.team import TeamStore
from agio.core.identity.worker_key import WorkerKeyStore
from agio.core.inline import InlineStore
from agio.core.mcp import McpStore
from agio.core.mcp_oauth import McpOAuthStore
from agio.core.memory import MemoryStore
from agio.core.passage import PassageStore
from agio.core.profile import ProfileStore
from agio.core.provider import ProviderStore
from agio.core.store.audit import AuditStore
from agio.core.store.jobs import Completion, JobStore
from agio.core.store.records import (
    Accepted,
    AgentFields,
    AgentRecord,
    AgentStatus,
    Branch,
    ClaimBy,
    Claimed,
    EventSlice,
    ForkLimits,
    InterruptRecord,
    Limits,
    MessageRecord,
    OnBusy,
    Page,
    SessionRecord,
    Submission,
    ToolExecution,
)
from agio.core.store.repository import AgentRunRepository, RunInfo, RunInput, RunLog, ToolRecord


class Store(
    AgentRunRepository,
    IdentityStore,
    AccountStore,
    TeamStore,
    WorkerKeyStore,
    ProfileStore,
    ProviderStore,
    ToolStore,
    McpStore,
    McpOAuthStore,
    DraftStore,
    FileStore,
    InlineStore,
    MemoryStore,
    PassageStore,
    DocumentStore,
    AuditStore,
    JobStore,
    Protocol,
):
    """The gateway's store. Raises StoreError when the store fails, UserError as documented."""

    # Agents

    async def list_agents(
        self,
        tenant: str,
        *,
        search: str | None = None,
        status: AgentStatus | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[AgentRecord]:
        """List a tenant's agents by name. `search` matches name and description. Raises UserError `invalid_cursor`."""
        ...

    async def name_agents(self, tenant: str) -> list[tuple[str, str]]:
        """Return the ids and names of a tenant's active agents, oldest first."""
        ...

    async def get_agent(self, tenant: str, agent_id: str) -> AgentRecord:
        """Return an agent. Raises UserError `agent_not_found`."""
        ...

    async def create_agent(self, tenant: str, fields: AgentFields) -> AgentRecord:
        """Add an agent. Raises UserError `agent_exists` if the name is taken in the tenant."""
        ...

    async def update_agent(
        self, tenant: str, agent_id: str, fields: AgentFields, expected: int | None = None
    ) -> AgentRecord:
        """Replace an agent's definition; with `expected`, only if the stored `updated_at` equals it.

        Raises UserError `agent_not_found`, `agent_exists`, `agent_read_only`, `changed_elsewhere`.
        """
        ...

    async def delete_agent(self, tenant: str, agent_id: str) -> None:
        """Delete an agent; its sessions stay readable. Raises UserError `agent_not_found`, `agent_read_only`."""
        ...

    async def put_code_agents(self, tenant: str, agents: Sequence[AgentFields]) -> list[AgentRecord]:
        """Replace the agents with source `code`, matched by name. Agents of that source not listed become inactive.

        Raises UserError `agent_exists` if a stored agent has one of the names.
        """
        ...

    # Sessions

    async def list_sessions(
        self,
        tenant: str,
        user: str,
        *,
        agent_id: str | None = None,
        search: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[SessionRecord]:
        """List a user's sessions, the last changed first. Raises UserError `invalid_cursor`.

        `search` matches the title and the messages of user and agent. Each result has the matching message in `found`.
        """
        ...

    async def start_session(
        self,
        tenant: str,
        user: str,
        agent_id: str,
        *,
        title: str = "",
        on_busy: OnBusy = "queue",
        alias: str | None = None,
    ) -> SessionRecord:
        """Create a session, or return the user's session with this agent and alias.

        Raises UserError `agent_not_found`, `agent_inactive`, `session_deleted` (the alias's session was).
        """
        ...

    async def get_session(self, tenant: str, user: str, session_id: str) -> SessionRecord:
        """Return a session. Raises UserError `session_not_found`."""
        ...

    async def update_session(
        self,
        tenant: str,
        user: str,
        session_id: str,
        *,
        title: str | None = None,
        on_busy: OnBusy | None = None,
        seen_pos: int | None = None,
        leaf_run_id: str | None = None,
    ) -> SessionRecord:
        """Change the given fields. Raises UserError `session_not_found`, `run_not_found`, `session_busy`.

        `seen_pos` only grows, up to the session's last position, and does not affect the order of lists. With
        `leaf_run_id` the next message continues that run; no run of the session may be queued or running.
        """
        ...

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
        """Copy a session up to, but excluding, a user message: to the state before that message's run.

        The copy's runs, messages, calls, questions and files have their own ids. It is visible once it is complete.
        Repeating the same request with the same key returns the same copy, for 7 days. Raises UserError
        `session_not_found`, `message_not_found`, `session_busy` (a run before the message has not ended),
        `agent_inactive`, `session_too_large`, `idempotency_conflict`, `session_deleted` (the copy of this key was).
        """
        ...

    async def delete_session(self, tenant: str, user: str, session_id: str) -> list[RunInfo]:
        """Delete a session and its content. Hashes of its idempotency keys and aliases are kept for 7 days.

        Returns the runs that were running; their workers must drop them. Raises UserError `session_not_found`.
        """
        ...

    async def list_messages(
        self,
        tenant: str,
        user: str,
        session_id: str,
        *,
        after: str | None = None,
        limit: int = 200,
        limit_bytes: int | None = None,
        leaf: str | None = None,
        queued: bool = True,
    ) -> Page[MessageRecord]:
        """List a session's finished messages in the order of the conversation, those of queued runs last.

        With `leaf` only those of the path to that run; without `queued`, none of queued runs. A page ends at `limit`
        messages or `limit_bytes`, and has at least one message. Raises UserError `run_not_found` for the leaf.
        """
        ...

    async def last_messages(
        self,
        tenant: str,
        user: str,
        session_id: str,
        *,
        before: str | None = None,
        limit: int = 200,
        limit_bytes: int | None = None,
        leaf: str | None = None,
        queued: bool = True,
    ) -> Page[MessageRecord]:
        """Return a session's newest finished messages, or those before a cursor, in the order of `list_messages`."""
        ...

    async def find_messages(
        self, tenant: str, user: str, session_id: str, ids: Sequence[str]
    ) -> list[MessageRecord]:
        """Return the session's messages with these ids, including those of queued runs: the ones already accepted."""
        ...

    async def list_interrupts(self, tenant: str, user: str, session_id: str) -> list[InterruptRecord]:
        """List a session's questions, newest first, including answered ones. Raises UserError `session_not_found`."""
        ...

    # Submitting, claiming and cancelling runs

    async def accept(self, tenant: str, user: str, given: Submission, limits: Limits) -> Accepted:
        """Accept a submission: its messages, run and answers commit together.

        `resume` must answer all open questions at once; a user message cancels them. Raises UserError
        `session_not_found`, `agent_inactive`, `session_busy`, `idempotency_conflict`, `unknown_interrupt`,
        `interrupt_closed`, `incomplete_answer`, `unknown_tool_call`, `parent_not_found`, `parent_not_ended`,
        `parent_pending`, `message_not_found`, and LimitExceeded `too_many_sessions`, `queue_full`; with `start` also
        the errors of `start_session`.
        """
        ...

    async def claim_next(
        self,
        by: ClaimBy,
        limits: Limits,
        *,
        tenants: Collection[str] | None = None,
        code_agents: Sequence[str] = (),
        code_tenants: Collection[str] | None = None,
        after_tenant: str = "",
        queued_before: int = 0,
        must_end_only: bool = False,
    ) -> Claimed | None:
        """Claim the next run, oldest first, taking tenants in turn from the one after `after_tenant`.

        A session has one running run, and an open question holds its queue; answers go before messages. `tenants`
        restricts the claim to those tenants. Runs of agents defined in code are claimed only if `code_agents` has the
        agent's name and `code_tenants` the tenant (None: every tenant). Runs queued before `queued_before` (ms) are
        returned with `must_end` = `expired`. With `must_end_only`, only runs that must end are claimed.
        """
        ...

    async def reclaim(
        self, run_id: str, epoch: int, by: ClaimBy, *, given_back: bool = False
    ) -> Claimed | None:
        """Take over a running run that has this epoch, as epoch + 1. Returns None if it ended or was taken over.

        A claim that was `given_back` does not count towards the three claims that finish no turn.
        """
        ...

    async def give_back(self, run_id: str, epoch: int) -> None:
        """Record that a worker gave the run back in good order, so that its claim does not count as a crash."""
        ...

    async def running_runs(self) -> list[RunInfo]:
        """List the running runs of all tenants, oldest first, with their workers: to take them over after a start."""
        ...

    async def count_runs(self) -> dict[str, int]:
        """Count the queued and the running runs of all tenants."""
        ...

    async def request_cancel(
        self, tenant: str, user: str, *, session_id: str | None = None, run_id: str | None = None
    ) -> list[RunInfo]:
        """Request the cancellation of a run, or of all queued and running runs of a session. Returns those runs.

        A run that has ended is unchanged. Raises UserError `run_not_found`, `session_not_found`.
        """
        ...

    async def expire_interrupts(self, *, job: Completion | None = None) -> int:
        """Close the questions that have expired. Returns their number. `job` is completed with it."""
        ...

    async def sweep(self, *, job: Completion | None = None) -> None:
        """Delete what has expired: sign-ins and web sessions; after 7 days keys, calls outside runs, completed jobs.

        `job` is completed with it.
        """
        ...

    async def delete_old_sessions(self, tenant: str, limit: int = 50) -> list[str]:
        """Delete a tenant's sessions that are unchanged for longer than its retention. Returns their ids.

        Deletes as `delete_session` does, at most `limit` at once, and no session with a queued or running run.
        """
        ...

    async def run_inputs(self, run_id: str) -> list[RunInput]:
        """Return the input of a running run that its log does not have yet. The caller has checked the tenant."""
        ...

    async def find_tool(self, run_id: str, key: str) -> ToolRecord | None:
        """Return the record of a run's call; None: it has not begun. The caller has checked the tenant."""
        ...

    async def history(self, run: RunInfo, enough: int) -> list[RunLog]:
        """Return the logs of the runs before a run on its path, oldest first.

        Only the newest runs are returned that together have `enough` messages. For the worker's claim; the caller has
        checked the tenant.
        """
        ...

    async def path_of(self, session_id: str, leaf: str | None) -> list[RunInfo]:
        """Return the runs from the session's first up to `leaf`, oldest first. The caller has checked the tenant."""
        ...

    async def branches(self, session_id: str, leaf: str) -> list[Branch]:
        """Return the runs of the path to `leaf` that have alternatives. The caller has checked the tenant."""
        ...

    async def run_definition(self, run: RunInfo) -> AgentRecord | None:
        """Return the definition that a run pinned, None if there is none. The caller has checked the tenant."""
        ...

    # Reading the log

    async def find_run(self, tenant: str, user: str | None, run_id: str) -> RunInfo:
        """Return a run of the user; with None, of any user in the tenant. Raises UserError `run_not_found`."""
        ...

    async def show_run(self, tenant: str, user: str | None, run_id: str) -> RunInfo:
        """As `find_run`, with the user's name and the state of the run's questions."""
        ...

    async def find_alias(self, tenant: str, user: str, session_id: str, alias: str) -> RunInfo | None:
        """Return the run to which an AG-UI client assigned this run id, or None."""
        ...

    async def find_runs(
        self,
        tenant: str,
        user: str | None,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        status: str | None = None,
        since: int | None = None,
        until: int | None = None,
        copies: bool | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[RunInfo]:
        """List the runs of the user, or with None of all users in the tenant, newest first, with the users' names.

        `since` (inclusive) and `until` (exclusive) bound the creation time, in milliseconds. `copies` says whether to
        include runs copied with their session; None: only in the list of a session. Raises UserError `invalid_cursor`.
        """
        ...

    async def read_session(self, session_id: str, after: int, limit_bytes: int) -> list[EventSlice]:
        """Return about `limit_bytes` of the session's events after position `after`, oldest first.

        Returns at least one event if there is one. The caller has checked the tenant.
        """
        ...

    async def read_run(self, run_id: str, after: int, limit_bytes: int) -> EventSlice:
        """Return a run's events after seq `after`; `first_pos` is the session's. The caller has checked the tenant."""
        ...

    async def list_tool_executions(
        self, tenant: str, user: str | None, run_id: str, *, after: str | None = None, limit: int = 200
    ) -> Page[ToolExecution]:
        """List a run's tool calls, in order; `user` as in `find_run`.

        Raises UserError `run_not_found`, `invalid_cursor`.
        """
        ...

    async def check(self) -> None:
        """Check that the store can be read and written. Raises StoreError."""
        ...
