"""The server's store port: everything `AgentRunRepository` keeps, and who may see it, agents, sessions, the queue.

Implemented in db/ on SQLite and on Postgres. Every method that serves a person or a program takes the tenant
of its credential first, and finds nothing of any other: a foreign id is a UserError `..._not_found`.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from agio.core.draft import DraftStore
from agio.core.file import FileStore
from agio.core.http_tool import ToolStore
from agio.core.identity.account import AccountStore
from agio.core.identity.principal import IdentityStore
from agio.core.identity.team import TeamStore
from agio.core.identity.worker_key import WorkerKeyStore
from agio.core.inline import InlineStore
from agio.core.profile import ProfileStore
from agio.core.provider import ProviderStore
from agio.core.store.audit import AuditStore
from agio.core.store.records import (
    Accepted,
    AgentFields,
    AgentRecord,
    AgentStatus,
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
from agio.core.store.repository import AgentRunRepository, RunInfo, RunLog


class Store(
    AgentRunRepository,
    IdentityStore,
    AccountStore,
    TeamStore,
    WorkerKeyStore,
    ProfileStore,
    ProviderStore,
    ToolStore,
    DraftStore,
    FileStore,
    InlineStore,
    AuditStore,
    Protocol,
):
    """Everything the gateway keeps. Raises StoreError when the store fails, UserError as said."""

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
        """A tenant's agents by name. `search` is a part of the name or description. UserError `invalid_cursor`."""
        ...

    async def get_agent(self, tenant: str, agent_id: str) -> AgentRecord:
        """Raises UserError `agent_not_found`."""
        ...

    async def create_agent(self, tenant: str, fields: AgentFields) -> AgentRecord:
        """Add an agent. Raises UserError `agent_exists` if the name is taken in the tenant."""
        ...

    async def update_agent(
        self, tenant: str, agent_id: str, fields: AgentFields, expected: int | None = None
    ) -> AgentRecord:
        """Replace what is said of an agent; `expected`: only if it is the version of that `updated_at`.

        Raises UserError `agent_not_found`, `agent_exists`, `agent_read_only`, `changed_elsewhere`.
        """
        ...

    async def delete_agent(self, tenant: str, agent_id: str) -> None:
        """Remove an agent; its sessions stay readable. Raises UserError `agent_not_found`, `agent_read_only`."""
        ...

    async def put_code_agents(self, tenant: str, agents: Sequence[AgentFields]) -> list[AgentRecord]:
        """Make the agents with source `code` be these, by name; others of that source become inactive.

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
        """A user's sessions, those changed last first. Raises UserError `invalid_cursor`.

        `search` is a part of the title, or of what the user or the agent said; then a session says where, in `found`.
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
        """Add a session; with an alias that the user has with this agent, the one there is.

        Raises UserError `agent_not_found`, `agent_inactive`, `session_deleted` (the alias's session was).
        """
        ...

    async def get_session(self, tenant: str, user: str, session_id: str) -> SessionRecord:
        """Raises UserError `session_not_found`."""
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
    ) -> SessionRecord:
        """Change what is given. Raises UserError `session_not_found`.

        `seen_pos` only grows, no further than the session's last position, and is no change that lists order by.
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
        """Copy a session up to, and without, a message of the user's: to where the run it began had not begun.

        The copy's runs, messages, calls, questions and files have ids of their own. Nobody sees it before it is whole.
        Asked again with the same key and words it answers the same copy, for 7 days. Raises UserError
        `session_not_found`, `message_not_found`, `session_busy` (a run before the message has not ended),
        `agent_inactive`, `session_too_large`, `idempotency_conflict`, `session_deleted` (the copy of this key was).
        """
        ...

    async def delete_session(self, tenant: str, user: str, session_id: str) -> list[RunInfo]:
        """Remove a session and everything in it; hashes of its idempotency keys and aliases stay 7 days.

        Returns the runs that were running: whoever has them must let go. Raises UserError `session_not_found`.
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
    ) -> Page[MessageRecord]:
        """A session's finished messages in the order of the conversation, those of queued runs last.

        A page ends at `limit` messages or `limit_bytes` of them, and has one at least.
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
    ) -> Page[MessageRecord]:
        """The newest of a session's finished messages, or those before a cursor, in the order of `list_messages`."""
        ...

    async def find_messages(
        self, tenant: str, user: str, session_id: str, ids: Sequence[str]
    ) -> list[MessageRecord]:
        """Those of a session's messages that have one of these ids, also of queued runs: what was taken before."""
        ...

    async def list_interrupts(self, tenant: str, user: str, session_id: str) -> list[InterruptRecord]:
        """A session's questions, newest first, answered ones too. Raises UserError `session_not_found`."""
        ...

    # The road

    async def accept(self, tenant: str, user: str, given: Submission, limits: Limits) -> Accepted:
        """Take a message into its session: message, run and answers in one commit.

        Open questions are answered by `resume`, all of them at once, or cancelled by a user message. Raises
        UserError `session_not_found`, `agent_inactive`, `session_busy`, `idempotency_conflict`,
        `unknown_interrupt`, `interrupt_closed`, `incomplete_answer`, `unknown_tool_call`, and LimitExceeded
        `too_many_sessions`, `queue_full`; with `start` also what `start_session` raises.
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
        """Claim the next run that may run: tenants in turn from the one after `after_tenant`, oldest first.

        A session has one running run, and an open question holds its queue; answers go before messages. With
        `tenants`, only theirs. Runs of agents defined in code are taken only if `code_agents` has the agent's
        name and `code_tenants` the tenant (None: every tenant). Runs queued before
        `queued_before` (ms) come back with `must_end` = `expired`. With `must_end_only`, only runs that must end.
        """
        ...

    async def reclaim(
        self, run_id: str, epoch: int, by: ClaimBy, *, given_back: bool = False
    ) -> Claimed | None:
        """Take over a running run that has this epoch: epoch + 1. None if it has ended or was taken over.

        A claim that was `given_back` is not one of the three that bring no finished turn.
        """
        ...

    async def give_back(self, run_id: str, epoch: int) -> None:
        """Note that a run was given back in good order: whoever claims it next need not fear a crash loop."""
        ...

    async def running_runs(self) -> list[RunInfo]:
        """Every running run of every tenant, oldest first, with its worker: for taking over after a start."""
        ...

    async def count_runs(self) -> dict[str, int]:
        """How many runs are queued and running, over all tenants."""
        ...

    async def request_cancel(
        self, tenant: str, user: str, *, session_id: str | None = None, run_id: str | None = None
    ) -> list[RunInfo]:
        """Flag a run, or all queued and running runs of a session, to be cancelled; returns those flagged.

        A run that has ended is left as it is. Raises UserError `run_not_found`, `session_not_found`.
        """
        ...

    async def expire_interrupts(self) -> int:
        """Close the questions whose time is over; returns how many."""
        ...

    async def sweep(self) -> None:
        """Forget idempotency keys and calls outside runs after 7 days, and web sessions that are over."""
        ...

    async def delete_old_sessions(self, limit: int = 50) -> list[str]:
        """Delete sessions that nobody changed for as long as their tenant keeps them; returns their ids.

        As `delete_session` does, at most `limit` at once, and none in which a run is queued or running.
        """
        ...

    async def history(self, session_id: str, before_pos: int, enough: int) -> list[RunLog]:
        """The logs of the session's runs that began before `before_pos`, oldest first: the newest ones that
        have `enough` messages together. For the worker's claim; the caller has checked the tenant."""
        ...

    async def next_log(self, session_id: str, after: int) -> RunLog | None:
        """The log of the session's first run whose events come after position `after`. The caller has checked
        the tenant."""
        ...

    # Reading the log

    async def find_run(self, tenant: str, user: str | None, run_id: str) -> RunInfo:
        """A run of a user's; None: of anybody's in the tenant. Raises UserError `run_not_found`."""
        ...

    async def show_run(self, tenant: str, user: str | None, run_id: str) -> RunInfo:
        """As `find_run`, with the user's name and what became of its questions."""
        ...

    async def find_alias(self, tenant: str, user: str, session_id: str, alias: str) -> RunInfo | None:
        """The run an AG-UI client began with this run id."""
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
        """A user's runs, None: everybody's in the tenant, newest first, with the users' names.

        Those created from `since` on and before `until`, in milliseconds. `copies` says whether those are among them
        that were copied with their session; None: in the list of a session. Raises UserError `invalid_cursor`.
        """
        ...

    async def read_session(self, session_id: str, after: int, limit_bytes: int) -> list[EventSlice]:
        """The session's events after position `after`, oldest first, at least one event if there is one and
        then about `limit_bytes`. The caller has checked the tenant."""
        ...

    async def read_run(self, run_id: str, after: int, limit_bytes: int) -> EventSlice:
        """A run's events after seq `after`; `first_pos` is the session's. The caller has checked the tenant."""
        ...

    async def list_tool_executions(
        self, tenant: str, user: str | None, run_id: str, *, after: str | None = None, limit: int = 200
    ) -> Page[ToolExecution]:
        """What tools a run called, in order; `user` as in `find_run`.

        Raises UserError `run_not_found`, `invalid_cursor`.
        """
        ...

    async def check(self) -> None:
        """Raise StoreError if the store cannot be read or written now."""
        ...
