"""Control signals between gateways. Most are a hint to look at the store; acting twice on one changes nothing."""

from typing import TypeAlias

from msgspec import Struct

from agio.core.provider import Sealed


class Queued(Struct, frozen=True, tag=True):
    """Runs wait in the queue that the sender's workers cannot take."""


class Freed(Struct, frozen=True, tag=True):
    """Running runs have no worker: one was lost, or a gateway drains."""


class Cancelled(Struct, frozen=True, tag=True):
    """A run was flagged for cancellation."""

    run_id: str


class Given(Struct, frozen=True, tag=True):
    """A run has new input of its user: an answer, a message that joins it."""

    run_id: str


class Deleted(Struct, frozen=True, tag=True):
    """A session was deleted."""

    session_id: str


class Revoked(Struct, frozen=True, tag=True):
    """Credentials were revoked or changed: one, those of a user, those of an account, or a worker's key."""

    credential: str = ""
    tenant: str = ""
    user: str = ""
    account: str = ""
    worker_key: str = ""


class Changed(Struct, frozen=True, tag=True):
    """A team's model providers or memories have changed: what was kept of them is out of date."""

    tenant: str


class Joined(Struct, frozen=True, tag=True):
    """A gateway has begun, offers other tools, or leaves: the list of gateways is out of date."""


class Beat(Struct, frozen=True, tag=True):
    """A worker's heartbeat, which a load balancer brought to another gateway than its link."""

    gateway: str
    worker: str
    key: str


class Asked(Struct, frozen=True, tag=True):
    """A short model task for a worker of the named gateway, which answers the sender."""

    gateway: str
    sender: str
    id: str
    tenant: str
    task: bytes
    key: Sealed | None
    """The API key of the task's endpoint."""


class Answered(Struct, frozen=True, tag=True):
    """The result of a task, or its error, as a frame of the link."""

    gateway: str
    id: str
    frame: bytes


Signal: TypeAlias = (
    Queued | Freed | Cancelled | Given | Deleted | Revoked | Changed | Joined | Beat | Asked | Answered
)
