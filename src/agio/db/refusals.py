"""The refusals that more than one module of db/ raises."""

from agio.core.store.repository import RunInfo
from agio.errors import StoreError, UserError
from agio.protocol.frames import Frame

_ID_CHARS = 200


def run_not_found(run_id: str) -> UserError:
    """No run has this id."""
    return UserError("run_not_found", f"There is no run {run_id}.", {"run_id": run_id})


def session_not_found(session_id: str) -> UserError:
    """The user has no session of this id."""
    return UserError("session_not_found", f"There is no session {session_id}.", {"session_id": session_id})


def message_not_found(message_id: str) -> UserError:
    """The session has no such message of the user's."""
    shown = message_id[:_ID_CHARS]
    return UserError(
        "message_not_found",
        f"The session has no message {shown} that its user sent.",
        {"message_id": shown},
    )


def memory_not_found(memory_id: str) -> UserError:
    """The user may see no memory of this id."""
    shown = memory_id[:_ID_CHARS]
    return UserError("memory_not_found", f"There is no memory {shown}.", {"memory_id": shown})


def collection_not_found(collection_id: str) -> UserError:
    """The user may see no collection of this id."""
    shown = collection_id[:_ID_CHARS]
    return UserError("collection_not_found", f"There is no collection {shown}.", {"collection_id": shown})


def document_not_found(document_id: str) -> UserError:
    """The user may see no document of this id."""
    shown = document_id[:_ID_CHARS]
    return UserError("document_not_found", f"There is no document {shown}.", {"document_id": shown})


def suggestion_not_found(suggestion_id: str) -> UserError:
    """The user has no suggestion of this id."""
    shown = suggestion_id[:_ID_CHARS]
    return UserError("suggestion_not_found", f"There is no suggestion {shown}.", {"suggestion_id": shown})


def tenant_not_found(tenant: str) -> UserError:
    """There is no such tenant, or it is not the caller's."""
    return UserError("tenant_not_found", f"There is no tenant {tenant}.", {"tenant": tenant})


def user_not_found(user: str) -> UserError:
    """The tenant has no such user, or the user was removed."""
    return UserError("user_not_found", f"There is no user {user}.", {"user": user})


def changed_elsewhere(what: str) -> UserError:
    """Another version was saved since the one to replace was read."""
    return UserError(
        "changed_elsewhere",
        f"The {what} was changed since you read it. Read it again, or leave out If-Match to replace it.",
    )


def agent_not_found(agent_id: str) -> UserError:
    """The tenant has no agent of this id."""
    return UserError("agent_not_found", f"There is no agent {agent_id}.", {"agent_id": agent_id})


def file_not_found(file_id: str) -> UserError:
    """The user has no file of this id, or it is another session's."""
    shown = file_id[:_ID_CHARS]  # the id comes from a message and may be long
    return UserError("file_not_found", f"There is no file {shown}.", {"file_id": shown})


def agent_inactive(name: str) -> UserError:
    """An agent that takes no messages."""
    return UserError("agent_inactive", f"The agent {name} is not active.", {"agent": name})


def job_not_found(job_id: str) -> UserError:
    """The tenant has no job of this id."""
    return UserError("job_not_found", f"There is no job {job_id}.", {"job_id": job_id})


def job_claim_lost(job_id: str) -> StoreError:
    """The claim of a job has ended: nothing is written under it."""
    return StoreError(
        "job_claim_lost", f"The claim of job {job_id} has ended. It is run again.", {"job_id": job_id}
    )


def unknown_job_kind() -> StoreError:
    """The error of a job that no process took in time."""
    return StoreError(
        "unknown_job_kind",
        "No gateway can run jobs of this kind: the code for it was removed or is not deployed.",
    )


def run_exists(run_id: str) -> StoreError:
    """A run's id is taken."""
    return StoreError("run_exists", f"There is already a run {run_id}.", {"run_id": run_id})


def run_ended(info: RunInfo) -> StoreError:
    """A run that takes no more writes."""
    return StoreError(
        "run_ended",
        f"Run {info.run_id} has ended ({info.status}).",
        {"run_id": info.run_id, "status": info.status},
    )


def stale_epoch(run_id: str, epoch: int, claimed: int) -> StoreError:
    """A run was taken over: `claimed` is the epoch of the stale writer."""
    return StoreError(
        "stale_epoch",
        f"Run {run_id} was taken over: its epoch is {epoch}, the writer's is {claimed}.",
        {"run_id": run_id, "epoch": epoch},
    )


def sequence_gap(frame: Frame, last_seq: int) -> StoreError:
    """A frame that is not the next one."""
    return StoreError(
        "sequence_gap",
        f"Run {frame.run_id} has {last_seq} events: a frame from {frame.first_seq} leaves a gap.",
        {"run_id": frame.run_id, "last_seq": last_seq},
    )


def append_conflict(frame: Frame, last_seq: int) -> StoreError:
    """A frame whose seqs are taken by other events."""
    return StoreError(
        "append_conflict",
        f"Run {frame.run_id} already has other events from {frame.first_seq} on.",
        {"run_id": frame.run_id, "last_seq": last_seq},
    )


def idempotency_conflict(what: str) -> UserError:
    """A key or id was sent again with a different body."""
    return UserError(
        "idempotency_conflict",
        f"This {what} was used before for something else. Use a new one each time.",
    )


def session_too_large(what: str, given: int, limit: int) -> UserError:
    """A session that is too large to copy."""
    return UserError(
        "session_too_large",
        f"There are {given} {what} before this message, and at most {limit} are copied. "
        "Fork at an earlier message, or begin a new session.",
        {what.replace(" ", "_"): given, "limit": limit},
    )
