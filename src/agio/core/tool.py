"""Tools: `@tool` turns a function into one; `ToolContext` gives a tool the facts of its call.

execution/ runs tools; the loop sees it as the `ToolRunner` protocol.
"""

import inspect
import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import (
    Annotated,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
    overload,
)

import msgspec
from msgspec import Struct

from agio.core.model import ToolSpec
from agio.core.schema.schema import (
    Schema,
    Validator,
    check_schema,
    count_parts,
    is_pydantic,
    schema_of,
    validator,
)
from agio.core.store.repository import Approval, Effect
from agio.core.text import clean
from agio.errors import UserError
from agio.protocol.messages import Content, Json, ToolCall, ToolDeclaration, json_object

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

_PROGRESS_CHARS = 4096
_MAX_OFFERED = 128
"""The number of tools a client may offer for a run. Model providers accept no more."""
_MAX_OFFERED_PARTS = 10_000
"""The number of objects and lists in all offered schemas together, which compile in about 20 ms."""
_MAX_OFFERED_BYTES = 256 * 1024
INPUT_REQUIRED = "input_required"
"""The reason of a question that a tool asks during its call, and the state of a call that waits for its answer."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class InputQuestion(Struct, frozen=True):
    """What a tool asks a person during its call: to fill in a form, or to open a page."""

    message: str
    form: dict[str, Json] | None = None
    """The JSON schema of the answer's content: an object of plain fields. None: there is nothing to fill in."""
    url: str | None = None
    """The page to open."""

    @property
    def response_schema(self) -> dict[str, Json]:
        """The schema of an answer."""
        properties: dict[str, Json] = {"approved": {"type": "boolean"}}
        if self.form is not None:
            properties["content"] = self.form
        return {
            "type": "object",
            "properties": properties,
            "required": ["approved"],
            "additionalProperties": False,
        }


class GivenInput(Struct, frozen=True):
    """A person's answer to an `InputQuestion`."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Json] | None = None


class Resumed(Struct, frozen=True):
    """A call that goes on: what the tool kept when it asked, and the answers, in the order of its questions."""

    state: str
    given: list[GivenInput]


class ToolContext:
    """The facts of a tool call. A parameter with this type hint receives it; the model never sees it."""

    def __init__(
        self,
        *,
        tenant: str,
        user: str,
        project: str | None,
        session: str,
        run: str,
        call_id: str,
        report: Callable[[Json], None],
        agent: str = "",
        lane: str = "",
        resumed: Resumed | None = None,
        traceparent: str = "",
    ) -> None:
        self.tenant = tenant
        self.user = user
        self.project = project
        self.session = session
        self.run = run
        self.call_id = call_id
        """The call's id, the same for every attempt. Use it as an idempotency key."""
        self.agent = agent
        """The name of the calling agent."""
        self.lane = lane
        """The lane of the calling sub-agent; empty for the run's agent."""
        self.resumed = resumed
        """Set if the tool has asked a person, who has answered."""
        self.traceparent = traceparent
        """The W3C trace context of the call: pass it on as the header `traceparent`. Empty: there is none."""
        self.cancel_signal = threading.Event()
        """Set when the run is cancelled. A thread can wait for it."""
        self.report = report

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled and the tool should stop."""
        return self.cancel_signal.is_set()

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Report progress to the run's readers; `fraction` is from 0 to 1."""
        report: dict[str, Json] = {"message": clean(str(message))[:_PROGRESS_CHARS]}
        if fraction is not None and math.isfinite(fraction):
            report["fraction"] = fraction
        self.report(report)


class Tool(Generic[P, R]):
    """A function the model can call, or the declaration of a client's tool (`function` None)."""

    def __init__(
        self,
        *,
        name: str,
        description: str,
        parameters: Schema,
        function: Callable[P, R] | None = None,
        arguments: type | None = None,
        context_parameter: str | None = None,
        effect: Effect = "once",
        approval: Approval = "never",
        timeout_s: float | None = None,
        searchable: bool = False,
    ) -> None:
        if not (isinstance(name, str) and _NAME.fullmatch(name)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserError(
                "invalid_tool",
                f"{name!r} cannot be a tool's name: use up to 64 letters, digits, _ and -, beginning with a letter.",
            )
        if json_object(parameters).get("type") != "object":
            raise UserError(
                "invalid_schema", f"The parameters of tool {name} must be a JSON schema of type object."
            )
        for value, known in ((effect, get_args(Effect)), (approval, get_args(Approval))):
            if value not in known:
                raise UserError("invalid_tool", f"Tool {name} says {value!r}: say one of {', '.join(known)}.")
        self.name = name
        self.description = description
        self.parameters = parameters
        self.function = function
        self.arguments = arguments
        self.context_parameter = context_parameter
        self.effect: Effect = effect
        self.approval: Approval = approval
        if not _is_seconds(timeout_s):
            raise UserError("invalid_tool", f"timeout_s of tool {name} must be a number of seconds above 0.")
        self.timeout_s = timeout_s
        self.searchable = searchable
        """Whether the model may have to search it first, if there are many."""
        self.check: Validator | None = None
        if function is None:  # the client checks the arguments
            check_schema(parameters, f"The parameters of tool {name}")
        elif arguments is None:
            self.check = validator(parameters, f"The parameters of tool {name}")

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, self.parameters, self.searchable)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function directly, without a run."""
        if self.function is None:
            raise UserError(
                "client_tool", f"Tool {self.name} has no implementation here: its client runs it."
            )
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name})"


AnyTool: TypeAlias = Tool[..., object]


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "once",
    approval: Approval = "never",
    timeout_s: float | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "once",
    approval: Approval = "never",
    timeout_s: float | None = None,
) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:
    """Turn a function, sync or async, into a tool. Its type hints and docstring become the schema.

    Raises UserError `invalid_tool` or `invalid_schema`.
    """

    def wrap(function: Callable[P, R]) -> Tool[P, R]:
        own_name = name or _name(function)
        summary, notes = _documentation(function)
        fields, context_parameter = _fields(function, own_name, notes)
        arguments = msgspec.defstruct(
            f"{own_name}_arguments", fields, forbid_unknown_fields=True, kw_only=True
        )
        schema = schema_of(arguments, f"Tool {own_name}")
        schema.pop("title", None)
        return Tool(
            name=own_name,
            description=description or summary,
            parameters=schema,
            function=function,
            arguments=arguments,
            context_parameter=context_parameter,
            effect=effect,
            approval=approval,
            timeout_s=timeout_s,
        )

    return wrap if function is None else wrap(function)


def client_tool(name: str, description: str, parameters: Schema) -> AnyTool:
    """Declare a tool that the client runs. A run that calls it ends; the result starts the next run."""
    return Tool(name=name, description=description, parameters=parameters)


def check_offered_size(declarations: bytes) -> None:
    """Check the total size of offered tools, given as JSON. Raises UserError `invalid_schema`."""
    if len(declarations) > _MAX_OFFERED_BYTES or count_parts(declarations) > _MAX_OFFERED_PARTS:
        raise UserError(
            "invalid_schema",
            "The parameters of the offered tools are too large together: offer fewer, or describe them in less.",
        )


def offered_tools(declarations: Iterable[ToolDeclaration]) -> list[AnyTool]:
    """Declare the tools that a client offers for its run. A tool without `parameters` has no parameters.

    Raises UserError `invalid_tool` or `invalid_schema`, also if there are too many or they are too large together.
    """
    declarations = list(declarations)
    if len(declarations) > _MAX_OFFERED:
        raise UserError(
            "invalid_tool", f"{len(declarations)} tools are offered: a run takes up to {_MAX_OFFERED}."
        )
    check_offered_size(msgspec.json.encode(declarations))
    return [
        client_tool(
            entry.name,
            f"(Offered by the client.) {clean(entry.description)}",
            {"type": "object", "properties": {}}
            if entry.parameters is msgspec.UNSET
            else cast(Schema, entry.parameters),
        )
        for entry in declarations
    ]


def _name(function: Callable[..., object]) -> str:
    name = getattr(_inner(function), "__name__", None)
    if not isinstance(name, str):
        raise UserError(
            "invalid_tool", f'{function!r} has no name to go by: give it one with tool(name="...").'
        )
    return name


def _inner(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, partial):
        function = cast("partial[object]", function).func
    return function


def _documentation(function: Callable[..., object]) -> tuple[str, Mapping[str, str]]:
    inner = _inner(function)
    text = inspect.getdoc(inner)
    if not inspect.isroutine(inner) and not inspect.isclass(inner):
        text = inspect.getdoc(inner.__call__) or text
    if not text:
        return "", {}
    from docstring_parser import parse

    parsed = parse(text)
    notes = {entry.arg_name: entry.description for entry in parsed.params if entry.description}
    return (parsed.description or "").strip(), notes


def _fields(
    function: Callable[..., object], name: str, notes: Mapping[str, str]
) -> tuple[list[tuple[str, object, object]], str | None]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UserError(
            "invalid_tool", f"Tool {name} yields: return its result, and use progress() on the way."
        )
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise UserError("invalid_tool", f"The signature of tool {name} cannot be read: {error}.") from error
    fields: list[tuple[str, object, object]] = []
    context_parameter = None
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UserError("invalid_tool", f"Tool {name} takes *{parameter.name}: name every parameter.")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UserError(
                "invalid_tool", f"Tool {name} takes {parameter.name} by position only: remove the /."
            )
        hint = cast(object, parameter.annotation)
        if hint is ToolContext or ToolContext in get_args(hint):
            if context_parameter is not None:
                raise UserError("invalid_tool", f"Tool {name} takes two ToolContexts: one is enough.")
            context_parameter = parameter.name
            continue
        if hint is inspect.Parameter.empty:
            raise UserError("invalid_tool", f"Parameter {parameter.name} of tool {name} has no type hint.")
        default = (
            msgspec.NODEFAULT if parameter.default is parameter.empty else cast(object, parameter.default)
        )
        if isinstance(default, (list, dict, set, bytearray, Struct)) or is_pydantic(type(default)):
            default = msgspec.field(default_factory=_copier(cast(object, default)))
        fields.append((parameter.name, _described(hint, notes.get(parameter.name)), default))
    return fields, context_parameter


def _copier(value: object) -> Callable[[], object]:
    import copy

    return lambda: copy.deepcopy(value)


def _described(hint: object, note: str | None) -> object:
    """Add a parameter's description, from the docstring or from `Annotated[T, "..."]`, to its schema."""
    if get_origin(hint) is Annotated:
        base, *extras = get_args(hint)
        texts = [extra for extra in extras if isinstance(extra, str)]
        kept = [extra for extra in extras if isinstance(extra, msgspec.Meta)]
        note = texts[0] if texts else note
        hint = Annotated[(base, *kept)] if kept else base
    return Annotated[hint, msgspec.Meta(description=note)] if note else hint


def _is_seconds(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


class Decision(Struct, frozen=True):
    """A person's answer to a request for approval of a call."""

    approved: bool
    reason: str = ""
    arguments: dict[str, Json] | None = None
    """Arguments that replace the model's, if the person changed them."""


class ToolAnswer(Struct, frozen=True):
    """A tool's result for the model. `error` is a stable code when the call failed."""

    content: Content
    error: str | None = None
    asks: Sequence[InputQuestion] = ()
    """Questions instead of a result: the call goes on when a person has answered them."""
    state: str = ""
    """What the tool keeps until then. The gateway stores it, and no client sees it."""


class ToolRunner(Protocol):
    """Runs tools for the loop."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools as the model sees them."""
        ...

    def is_client(self, call: ToolCall) -> bool:
        """Whether the client must run this call."""
        ...

    def asks(self, call: ToolCall) -> bool:
        """Whether a person must approve this call."""
        ...

    def effect_of(self, call: ToolCall) -> Effect | None:
        """The effect of repeating this call; None for a call that cannot be run here."""
        ...

    def add(self, tool: AnyTool) -> None:
        """Add a tool that was found during the run, unless there is one of its name."""
        ...

    async def call(
        self,
        call: ToolCall,
        context: ToolContext,
        *,
        arguments: dict[str, Json] | None = None,
        recorded: bool = False,
    ) -> ToolAnswer:
        """Run a call. `arguments` replace the model's; `recorded` says that the log has its start.

        A failure that the model can correct is returned as an answer with an error. Raises ToolError, LimitExceeded or
        StoreError when the run must end. When cancelled, it sets the tool's cancel signal, waits for at most the grace
        period, and abandons the tool.
        """
        ...
