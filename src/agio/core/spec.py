"""What a run is given: the agent's definition and what it was asked."""

from collections.abc import Sequence

from msgspec import Struct, field

from agio.core.config import AgentRunConfig
from agio.core.schema import OutputType
from agio.protocol.ids import new_id
from agio.protocol.messages import ContextEntry, Message, ResumeEntry, ToolDeclaration


class AgentSpec(Struct, frozen=True):
    """An agent as the engine needs it. `provider` and `model` are the two halves of `provider:model`."""

    name: str
    instructions: str
    provider: str
    model: str
    goal: str | None = None
    output: OutputType | None = None
    config: AgentRunConfig = AgentRunConfig()

    @property
    def model_id(self) -> str:
        """The model as users write it: `provider:model`."""
        return f"{self.provider}:{self.model}"


class RunRequest(Struct, frozen=True, kw_only=True):
    """What starts a run: new messages (a user's, or results of client-side tools), or answers to interrupts."""

    thread_id: str
    messages: Sequence[Message] = ()
    resume: Sequence[ResumeEntry] = ()
    tools: Sequence[ToolDeclaration] = ()
    context: Sequence[ContextEntry] = ()
    run_id: str = field(default_factory=lambda: new_id("run"))
    tenant: str = "default"
    user: str = "local"
    project: str | None = None
    mark: str = ""
    """The random mark that fences untrusted text; empty makes a new one."""
