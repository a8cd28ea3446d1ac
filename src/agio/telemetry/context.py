"""The request and the run that a log line is about, as context variables.

The door that accepts a request sets `REQUEST_ID`; code that works on a run calls `bind_run`.
"""

import os
import re
from contextvars import ContextVar

from agio.core.store.audit import ACTOR
from agio.core.store.repository import RunInfo
from agio.core.trace_context import TRACEPARENT

REQUEST_ID: ContextVar[str] = ContextVar("agio_request_id", default="")
TENANT: ContextVar[str] = ContextVar("agio_tenant", default="")
RUN_ID: ContextVar[str] = ContextVar("agio_run_id", default="")

HEADER = "x-request-id"
"""The header with a request's id: in requests, in responses, and in calls to the model."""

_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}").fullmatch


def accept_request_id(given: bytes | None) -> str:
    """Return the request's own id if it is safe to log and forward, else a new one."""
    return given.decode("ascii") if given is not None and _SANE(given) else f"req_{os.urandom(13).hex()}"


def bind_run(info: RunInfo) -> None:
    """Attach a run, and the trace it is part of, to this task and to the tasks it starts."""
    ACTOR.set(None)  # a run's actions are in its log, not in the audit log
    REQUEST_ID.set(info.request_id)
    TENANT.set(info.tenant)
    RUN_ID.set(info.run_id)
    TRACEPARENT.set(info.traceparent)


def about(info: RunInfo) -> dict[str, str]:
    """Return the `extra` of a line about a run, for code that handles many runs."""
    return {"run_id": info.run_id, "tenant": info.tenant, "request_id": info.request_id}
