"""The grammar's state: the open entities of a run with their owners, and the lanes in which chunks build them."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from agio.errors import AgioError
from agio.protocol import events as ev
from agio.protocol.events import AgentEvent
from agio.protocol.messages import ActivityMessage, AssistantMessage, Message, ReasoningMessage

Rule: TypeAlias = Literal[
    "starts-with-run",
    "one-run-at-a-time",
    "nothing-after-the-end",
    "run-ends",
    "closed-at-the-end",
    "opened-once",
    "opened-before",
    "one-owner",
    "call-in-its-message",
    "step-once",
    "step-of-its-owner",
    "subagent-once",
    "subagent-open",
    "subagent-parent",
    "chunk-opener",
    "chunk-agrees",
    "chunk-ambiguous",
    "house-seq",
    "house-chunk-id",
    "house-result-of-call",
    "house-snapshot",
]
"""The names of the rules. Rules that only agio has begin with `house-`."""

Owner: TypeAlias = str | UnsetType
"""The subagent that owns an entity; UNSET for the agent itself."""

Kind: TypeAlias = Literal["text message", "tool call", "reasoning message", "reasoning span", "activity"]
_Said: TypeAlias = dict[str, str | UnsetType]
_Chunk: TypeAlias = ev.TextMessageChunk | ev.ToolCallChunk | ev.ReasoningMessageChunk


class GrammarError(AgioError):
    """An event violates the rule named in `rule`."""

    def __init__(self, rule: Rule, message: str) -> None:
        super().__init__("grammar", message, {"rule": rule})
        self.rule: Rule = rule


def name_of(owner: Owner) -> str:
    """Return an owner's name for a message."""
    return "the agent" if owner is UNSET else f"subagent '{owner}'"


class Streams:
    """The open entities of a run, and the owner of each id. Owners are remembered after an entity ends."""

    def __init__(self) -> None:
        self.open: set[tuple[Kind, str]] = set()
        self.owners: dict[tuple[Kind, str], Owner] = {}

    def start(self, kind: Kind, entity: str, owner: Owner) -> None:
        """Open an entity. Its first owner stays its owner."""
        if (kind, entity) in self.open:
            raise GrammarError("opened-once", f"The {kind} '{entity}' is already open.")
        self.agree(kind, entity, owner)
        self.open.add((kind, entity))
        self.owners.setdefault(_owned(kind, entity), owner)

    def start_call(self, call: str, owner: Owner, parent: str | UnsetType) -> None:
        """Open a tool call. A call without an owner belongs to the owner of its message."""
        if parent is not UNSET and ("text message", parent) in self.owners:
            inherited = self.owners["text message", parent]
            known = self.owners.setdefault(("tool call", call), inherited)
            if inherited != (known if owner is UNSET else owner):
                message = f"The message '{parent}' of the tool call '{call}' belongs to {name_of(inherited)}."
                raise GrammarError("call-in-its-message", message)
        self.start("tool call", call, owner)

    def go_on(self, kind: Kind, entity: str, owner: Owner) -> None:
        """Check that an entity is open and belongs to the owner."""
        if (kind, entity) not in self.open:
            raise GrammarError("opened-before", f"No {kind} '{entity}' is open.")
        self.agree(kind, entity, owner)

    def end(self, kind: Kind, entity: str, owner: Owner) -> None:
        """Close an open entity."""
        self.go_on(kind, entity, owner)
        self.open.remove((kind, entity))

    def agree(self, kind: Kind, entity: str, owner: Owner) -> None:
        """Refuse an owner other than the recorded one. UNSET agrees with any owner."""
        known = self.owners.get(_owned(kind, entity), owner)
        if owner is not UNSET and owner != known:
            raise _other_owner(kind, entity, known)

    def seed(self, messages: Iterable[Message], *, replace: bool) -> None:
        """Record the owners of earlier messages; `replace` overwrites owners already recorded."""
        record = self.owners.__setitem__ if replace else self.owners.setdefault
        for message in messages:
            match message:
                case ReasoningMessage():
                    record(("reasoning message", message.id), message.subagent_run_id)
                case ActivityMessage():
                    record(("activity", message.id), message.subagent_run_id)
                case _:
                    record(("text message", message.id), message.subagent_run_id)
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls or ():
                    record(("tool call", call.id), message.subagent_run_id)


def _owned(kind: Kind, entity: str) -> tuple[Kind, str]:
    """Return the key of an entity's owner. A reasoning span and the reasoning in it may share an id and an owner."""
    return ("reasoning message" if kind == "reasoning span" else kind, entity)


def _other_owner(kind: Kind, entity: str, owner: Owner) -> GrammarError:
    return GrammarError("one-owner", f"The {kind} '{entity}' belongs to {name_of(owner)} alone.")


class _Assembly(Struct):
    """A message or call built from chunks; `said` has the fields of its first chunk."""

    kind: Kind
    entity: str
    said: _Said


class Lanes:
    """Reads chunks as the start, content and end events they stand for. Each owner has one assembly at a time."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._lanes: dict[Owner, _Assembly] = {}

    def take(self, event: AgentEvent) -> None:
        """Add a chunk to its lane. Another event ends the lanes that it closes."""
        match event:
            case ev.TextMessageChunk():
                said = {"role": event.role, "name": event.name}
                self._add(event, "text message", event.message_id, said)
            case ev.ToolCallChunk():
                said = {"toolCallName": event.tool_call_name, "parentMessageId": event.parent_message_id}
                self._add(event, "tool call", event.tool_call_id, said)
            case ev.ReasoningMessageChunk():
                self._add(event, "reasoning message", event.message_id, {})
            case ev.RunStarted() | ev.RunFinished() | ev.RunError() | ev.MessagesSnapshot():
                for lane in list(self._lanes):
                    self._end(lane)
            case ev.Raw() | ev.ActivitySnapshot() | ev.ActivityDelta():
                pass
            case ev.ReasoningEncryptedValue() | ev.SubagentStarted():
                pass
            case _:
                self._end(event.subagent_run_id)

    def _add(self, chunk: _Chunk, kind: Kind, entity: str | UnsetType, said: _Said) -> None:
        lane = self._lane_of(kind, entity, chunk.subagent_run_id)
        assembly = self._lanes.get(lane)
        if assembly and assembly.kind == kind and entity in (UNSET, assembly.entity):
            for field, value in said.items():
                if value not in (UNSET, assembly.said[field]):
                    message = f"A chunk of the {kind} '{assembly.entity}' has another {field}: '{value}'."
                    raise GrammarError("chunk-agrees", message)
            has_content = chunk.metadata is not UNSET
        else:
            self._end(lane)
            assembly = self._lanes[lane] = self._begin(lane, kind, entity, said)
            has_content = False
        if has_content or chunk.delta is not UNSET or chunk.raw_event is not UNSET:
            self._streams.go_on(kind, assembly.entity, lane)

    def _begin(self, lane: Owner, kind: Kind, entity: str | UnsetType, said: _Said) -> _Assembly:
        if entity is UNSET:
            raise GrammarError("chunk-opener", f"The first chunk of a {kind} carries its id.")
        if kind == "tool call":
            if said["toolCallName"] is UNSET:
                raise GrammarError("chunk-opener", f"The first chunk of '{entity}' carries toolCallName.")
            self._streams.start_call(entity, lane, said["parentMessageId"])
        else:
            self._streams.start(kind, entity, lane)
        if said.get("role") is UNSET:
            said["role"] = "assistant"
        return _Assembly(kind, entity, said)

    def _end(self, lane: Owner) -> None:
        if assembly := self._lanes.pop(lane, None):
            self._streams.end(assembly.kind, assembly.entity, lane)

    def _lane_of(self, kind: Kind, entity: str | UnsetType, owner: Owner) -> Owner:
        """Return the lane of a chunk: by its id, else by its owner, else the only lane it can continue."""
        same_kind = {lane: assembly for lane, assembly in self._lanes.items() if assembly.kind == kind}
        if entity is not UNSET:
            lane = next((lane for lane, assembly in same_kind.items() if assembly.entity == entity), owner)
            if owner not in (UNSET, lane):
                raise _other_owner(kind, entity, lane)
            return lane
        if owner is not UNSET or UNSET in same_kind or not same_kind:
            return owner
        if len(same_kind) > 1:
            raise GrammarError(
                "chunk-ambiguous", f"A chunk may belong to any of {len(same_kind)} open {kind}s."
            )
        return next(iter(same_kind))
