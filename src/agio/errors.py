"""Every error agio raises, by who must act.

    AgioError                 code, message, details
    ├── UserError             the caller: wrong name, missing key, bad schema, bad input
    ├── ModelError            the model's service: down, slow, refusing, invalid response
    ├── ToolError             a tool, or the endpoint behind it
    ├── UpstreamError         a service that a user named: unreachable, slow, too large, invalid response
    ├── StoreError            the store: locked, corrupt, newer version, fenced
    ├── BusError              the bus between gateways
    └── LimitExceeded         a limit set by the owner of the agent: steps, tokens, time

`code` is stable and goes over the wire; `message` is for people and may change.
"""

from collections.abc import Mapping


class AgioError(Exception):
    """An error with a stable code, a sentence for people, and details for programs."""

    def __init__(self, code: str, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: dict[str, object] = dict(details or {})

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


class UserError(AgioError):
    """The caller must change the request before trying again."""


class ModelError(AgioError):
    """A model call failed. `retryable` says whether the same call may succeed later."""

    def __init__(
        self,
        code: str,
        message: str,
        details: Mapping[str, object] | None = None,
        *,
        retryable: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(code, message, details)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class ToolError(AgioError):
    """A tool failure that ends the run. Other failures of tools are returned to the model."""


class UpstreamError(AgioError):
    """A service that a user named did not answer agio's call as expected."""


class StoreError(AgioError):
    """The store refused an operation, or failed."""


class BusError(AgioError):
    """The bus between gateways failed."""


class LimitExceeded(AgioError):
    """Continuing would exceed a configured limit."""
