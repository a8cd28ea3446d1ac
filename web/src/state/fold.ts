/** The one reducer: folds the log's events into a thread. Pure, and what did not change stays the same object. */
import { isObject } from "@/lib/json";
import { summarisedWords } from "@/lib/notice-words";
import { sumUsage, usageOfMetrics } from "@/lib/usage-words";
import type { Content } from "@/protocol/commands";
import {
  type Event,
  type EventOf,
  type Interrupt,
  type OwnEvents,
  ownValue,
  placeOf,
  type RunPlace,
} from "@/protocol/events";
import {
  type Asked,
  type AskedInput,
  answered,
  type CallPart,
  correctionId,
  findCall,
  hasBegun,
  type NoticePart,
  newTurn,
  type Part,
  type Question,
  type SubagentPart,
  saidIn,
  subagentOf,
  type TextPart,
  type Thread,
  type Turn,
} from "./thread";

/** Folds events that begin at a position into a thread. Those it has seen are left out. */
export function foldEvents(thread: Thread, first: number, events: readonly Event[]): Thread {
  let folded = thread;
  events.forEach((event, index) => {
    if (first + index > folded.pos) folded = { ...foldEvent(folded, event), pos: first + index };
  });
  return folded;
}

function foldEvent(thread: Thread, event: Event): Thread {
  switch (event.type) {
    case "RUN_STARTED":
      return startRun(thread, event);
    case "MESSAGES_SNAPSHOT":
    case "RAW":
      return thread; // ours are never in a log: the log itself is whole
    case "TOOL_CALL_RESULT":
      return takeResult(thread, event);
    default:
      return changeTurn(thread, currentRun(thread, event), (turn) =>
        withTools(foldIntoTurn(turn, event), thread),
      );
  }
}

function startRun(before: Thread, event: EventOf<"RUN_STARTED">): Thread {
  const given = event.input?.messages ?? [];
  const thread = given.reduce(
    (noted, message) =>
      message.role === "tool"
        ? noteResult(noted, message.toolCallId, message.content as Content, message.error)
        : leave(noted, message.id),
    takeAnswers(onPath(before, event), event),
  );
  const asked = given.flatMap((message) =>
    message.role === "user"
      ? [
          {
            id: message.id,
            content: message.content as Turn["asked"][number]["content"],
            at: event.timestamp ?? null,
          },
        ]
      : [],
  );
  const at = event.timestamp ?? null;
  const parts = given.flatMap((message): Part[] =>
    message.role === "system" || message.role === "developer"
      ? [{ kind: "system", id: message.id, text: message.content, seq: 0, startedAt: at, endedAt: at }]
      : [],
  );
  const started = { status: "running", startedAt: at } as const;
  if (thread.turns.some((turn) => turn.runId === event.runId)) {
    return changeTurn(thread, event.runId, (turn) => ({
      ...turn,
      ...(turn.status === "queued" || turn.status === "running" ? started : {}),
      asked: turn.asked.length ? turn.asked : asked,
      parts: turn.parts.length ? turn.parts : parts,
    }));
  }
  const waiting = thread.turns.findIndex((turn) => turn.status === "queued");
  const place = waiting < 0 ? thread.turns.length : waiting;
  const turn = { ...newTurn(event.runId), ...started, asked, parts };
  return { ...thread, turns: thread.turns.toSpliced(place, 0, turn) };
}

/** A message that a run begins with does not wait to join one. */
function leave(thread: Thread, id: string): Thread {
  const left = thread.turns.find(({ joining }) => joining.some((asked) => asked.id === id));
  return changeTurn(thread, left?.runId, (turn) => ({ ...turn, joining: without(turn.joining, id) }));
}

function without(asked: Asked[], id: string): Asked[] {
  return asked.filter((one) => one.id !== id);
}

/** The thread up to the run that a new run continues: what came after that is of another branch. */
function onPath(thread: Thread, event: EventOf<"RUN_STARTED">): Thread {
  const { parent, branch = false } = (event.metadata ?? {}) as RunPlace;
  const leaf = event.runId;
  if (thread.leaf === leaf) return thread;
  if (parent ? parent.run === thread.leaf : !branch) return { ...thread, leaf };
  const last = thread.turns.findIndex((turn) => turn.runId === parent?.run);
  const lost = parent !== undefined && last < 0;
  if (lost && !branch) return { ...thread, leaf, lost };
  const turns = thread.turns.filter((turn, at) => at <= last || turn.status === "queued");
  return { ...thread, turns, leaf, lost };
}

/** Notes the answers to the questions of an earlier run, which this run continues. */
function takeAnswers(thread: Thread, event: EventOf<"RUN_STARTED">): Thread {
  return (event.input?.resume ?? []).reduce((noted, { interruptId, payload }) => {
    const questions = noted.turns.flatMap((turn) => turn.questions);
    const question = questions.find((asked) => asked.id === interruptId);
    return noteAnswer(noted, question?.callId, payload, Boolean(question?.input));
  }, thread);
}

/** Notes what a person said when they were asked about a call. */
export function noteAnswer(
  thread: Thread,
  callId: string | undefined,
  payload: unknown,
  toTool = false,
): Thread {
  const asking = thread.turns.findLast((turn) => findPart(turn.parts, "call", callId));
  if (callId === undefined || !asking) return thread;
  const said = (payload ?? {}) as {
    approved?: boolean;
    reason?: string;
    editedArgs?: Record<string, unknown>;
  };
  const answer = {
    approved: said.approved === true,
    reason: said.reason ?? null,
    editedArgs: said.editedArgs ?? null,
    toTool,
  };
  return changeTurn(thread, asking.runId, (turn) =>
    changeCall(turn, callId, (call) => ({ ...call, answer })),
  );
}

/** The run an event is of: it says so itself, or it is the newest that has begun. */
function currentRun(thread: Thread, event: Event): string | undefined {
  return placeOf(event)?.run ?? thread.turns.findLast((turn) => turn.status !== "queued")?.runId;
}

function changeTurn(thread: Thread, runId: string | undefined, change: (turn: Turn) => Turn): Thread {
  const at = thread.turns.findLastIndex((turn) => turn.runId === runId);
  const turn = thread.turns[at];
  if (!turn) return thread;
  const changed = change(turn);
  return changed === turn ? thread : { ...thread, turns: thread.turns.with(at, changed) };
}

function foldIntoTurn(turn: Turn, event: Event): Turn {
  const seq = placeOf(event)?.seq ?? 0;
  const at = event.timestamp ?? null;
  switch (event.type) {
    case "STEP_STARTED":
      return inSubagent(event) ? turn : { ...turn, step: stepNumber(event.stepName) ?? turn.step + 1 };
    case "TEXT_MESSAGE_START":
      return say(turn, event, voiceOf(turn, event.messageId, event.role), event.messageId, "", seq);
    case "TEXT_MESSAGE_CONTENT":
      return say(turn, event, voiceOf(turn, event.messageId), event.messageId, event.delta, seq);
    case "TEXT_MESSAGE_CHUNK": {
      const id = event.messageId ?? lastId(turn, "text");
      return say(turn, event, voiceOf(turn, id, event.role), id, event.delta ?? "", seq);
    }
    case "REASONING_MESSAGE_START":
      return say(turn, event, "reasoning", event.messageId, "", seq);
    case "REASONING_MESSAGE_CONTENT":
      return say(turn, event, "reasoning", event.messageId, event.delta, seq);
    case "REASONING_MESSAGE_CHUNK":
      return say(
        turn,
        event,
        "reasoning",
        event.messageId ?? lastId(turn, "reasoning"),
        event.delta ?? "",
        seq,
      );
    case "TOOL_CALL_START":
      return startCall(turn, event, event.toolCallId, event.toolCallName, seq);
    case "TOOL_CALL_CHUNK": {
      const id = event.toolCallId ?? lastId(turn, "call");
      const begun = findPart(turn.parts, "call", id)
        ? turn
        : startCall(turn, event, id, event.toolCallName ?? "", seq);
      return changeCall(begun, id, (call) => ({ ...call, args: call.args + (event.delta ?? "") }));
    }
    case "TOOL_CALL_ARGS":
      return changeCall(turn, event.toolCallId, (call) =>
        call.asked ? call : { ...call, args: call.args + event.delta },
      );
    case "TOOL_CALL_END":
      return changeCall(turn, event.toolCallId, (call) =>
        call.asked ? call : { ...call, asked: true, startedAt: at },
      );
    case "SUBAGENT_STARTED": {
      const part: SubagentPart = {
        kind: "subagent",
        id: event.subagentRunId,
        name: event.name,
        task: (event.metadata as { task?: string } | undefined)?.task ?? "",
        parts: [],
        status: "running",
        message: null,
        seq,
      };
      if (findPart(turn.parts, "subagent", part.id)) return turn;
      return withParts(turn, insert(turn.parts, event.parentSubagentRunId, part));
    }
    case "SUBAGENT_FINISHED": {
      const status = event.outcome?.type === "suspended" ? "waiting" : "completed";
      return endSubagent(turn, event.subagentRunId, { status });
    }
    case "SUBAGENT_ERROR":
      return endSubagent(turn, event.subagentRunId, { status: "failed", message: event.message });
    case "RUN_FINISHED":
      return finish(turn, event);
    case "RUN_ERROR":
      return {
        ...turn,
        status: "failed",
        endedAt: at,
        error: { code: event.code ?? "error", message: event.message },
      };
    case "CUSTOM":
      return foldOwn(turn, event, seq);
    default:
      return turn;
  }
}

function foldOwn(turn: Turn, event: EventOf<"CUSTOM">, seq: number): Turn {
  const metrics = ownValue(event, "agio.metrics");
  if (metrics?.scope === "run") return { ...turn, metrics };
  if (metrics) return { ...turn, spent: sumUsage(turn.spent, usageOfMetrics(metrics)) };
  const subagent = inSubagent(event);
  const rewind = ownValue(event, "agio.rewind");
  if (rewind) {
    const { to_seq } = rewind;
    return subagent === undefined
      ? withParts(turn, rewindParts(turn.parts, to_seq))
      : changePart(turn, "subagent", subagent, (part) => ({
          ...part,
          parts: rewindParts(part.parts, to_seq),
        }));
  }
  const at = event.timestamp ?? null;
  const input = ownValue(event, "agio.input");
  if (input) return takeInput(turn, { id: input.message.id, content: input.message.content, at }, seq);
  const progress = ownValue(event, "agio.tool_progress");
  if (progress) return changeCall(turn, progress.tool_call_id, (call) => ({ ...call, progress }));
  const id = `${turn.runId}_n${seq || turn.parts.length}`;
  const handoff = ownValue(event, "agio.handoff");
  if (handoff)
    return findPart(turn.parts, "handoff", id)
      ? turn
      : withParts(turn, insert(turn.parts, subagent, { kind: "handoff", id, ...handoff, seq }));
  const trouble = ownValue(event, "agio.error");
  const notice = trouble ?? ownValue(event, "agio.notice") ?? ownValue(event, "agio.compacted");
  if (!notice || findPart(turn.parts, "notice", id)) return turn;
  const parts = insert(turn.parts, subagent, newNotice(id, event.name, notice, at, seq));
  if (trouble?.tell_model === undefined) return withParts(turn, parts);
  const idOf = (number: number) => correctionId(subagent ?? turn.runId, number);
  let number = 1;
  while (findPart(parts, "system", idOf(number))) number += 1;
  const text = trouble.tell_model;
  const correction: Part = { kind: "system", id: idOf(number), text, seq, startedAt: at, endedAt: at };
  return withParts(turn, insert(parts, subagent, correction));
}

/** A message that the run takes while it is in progress. */
function takeInput(before: Turn, said: Asked, seq: number): Turn {
  const turn = { ...before, joining: without(before.joining, said.id) };
  if (saidIn(turn).some(({ id }) => id === said.id)) return turn;
  return hasBegun(turn.parts)
    ? { ...turn, parts: [...turn.parts, { kind: "input", ...said, seq }] }
    : { ...turn, asked: [...turn.asked, said] };
}

function endSubagent(turn: Turn, id: string, how: Partial<SubagentPart>): Turn {
  return changePart(turn, "subagent", id, (part) => (part.status === "running" ? { ...part, ...how } : part));
}

function finish(turn: Turn, event: EventOf<"RUN_FINISHED">): Turn {
  const outcome = event.outcome;
  const endedAt = event.timestamp ?? null;
  if (outcome?.type === "cancelled") return { ...turn, status: "cancelled", endedAt };
  if (outcome?.type !== "interrupt") {
    return { ...turn, status: "completed", endedAt, pending: outcome?.pendingToolCallIds ?? [] };
  }
  const questions = outcome.interrupts.map((asked): Question => {
    const expires = asked.expiresAt ? Date.parse(asked.expiresAt) : Number.NaN;
    return {
      id: asked.id,
      callId: asked.toolCallId ?? "",
      tool: findCall(turn.parts, asked.toolCallId ?? "")?.name ?? "",
      message: asked.message ?? "",
      expiresAt: Number.isNaN(expires) ? null : expires,
      input: asked.reason === "input_required" ? inputOf(asked) : null,
    };
  });
  return { ...turn, status: "interrupted", endedAt, questions };
}

/** Names the tools that questions are about. A tool may ask in a later run than the call's. */
function withTools(turn: Turn, thread: Thread): Turn {
  if (turn.questions.every(({ tool }) => tool)) return turn;
  const parts = thread.turns.flatMap((each) => each.parts);
  const questions = turn.questions.map((asked) => ({
    ...asked,
    tool: findCall(parts, asked.callId)?.name ?? asked.callId,
  }));
  return { ...turn, questions };
}

function inputOf({ responseSchema, metadata }: Interrupt): AskedInput {
  const { properties } = (responseSchema ?? {}) as { properties?: { content?: unknown } };
  const { url } = (metadata ?? {}) as { url?: unknown };
  return {
    form: isObject(properties?.content) ? properties.content : null,
    url: typeof url === "string" ? url : null,
  };
}

/** A result belongs to its call, which may be of an earlier run: one that waited for a person or a client. */
function takeResult(thread: Thread, event: EventOf<"TOOL_CALL_RESULT">): Thread {
  const code = (event.metadata as { error?: unknown } | undefined)?.error;
  return noteResult(thread, event.toolCallId, event.content as Content, code, event);
}

/** Without a start event, the result came from the client: its duration is unknown. */
function noteResult(
  thread: Thread,
  callId: string,
  result: Content,
  code: unknown,
  event?: EventOf<"TOOL_CALL_RESULT">,
): Thread {
  const at = thread.turns.findLastIndex((turn) => findPart(turn.parts, "call", callId));
  const turn = thread.turns[at];
  if (!turn) return thread;
  const place = event && placeOf(event);
  const error = typeof code === "string" ? code : null;
  const changed = changeCall(turn, callId, (call) =>
    call.result !== null
      ? call
      : {
          ...call,
          result,
          resultSeq: place?.run === turn.runId ? place.seq : 0,
          error,
          endedAt: event?.timestamp ?? null,
        },
  );
  if (changed === turn) return thread;
  const ended = changePart(changed, "subagent", subagentOf(callId), (part) => answered(part, result, error));
  return { ...thread, turns: thread.turns.with(at, ended) };
}

/** Whether a text is the agent's or the system's: only its beginning says so. */
function voiceOf(turn: Turn, id: string | undefined, role?: string): "text" | "system" {
  const isSystem = role === "system" || role === "developer" || findPart(turn.parts, "system", id);
  return isSystem ? "system" : "text";
}

function say(
  turn: Turn,
  event: Event,
  kind: TextPart["kind"],
  id: string | undefined,
  delta: string,
  seq: number,
): Turn {
  if (id === undefined) return turn;
  const at = event.timestamp ?? null;
  if (!findPart(turn.parts, kind, id)) {
    const part: TextPart = { kind, id, text: delta, seq, startedAt: at, endedAt: at };
    return withParts(turn, insert(turn.parts, inSubagent(event), part));
  }
  return changePart(turn, kind, id, (part) =>
    part.seq === 0 && seq > 0 ? part : { ...part, text: part.text + delta, endedAt: at },
  );
}

function startCall(turn: Turn, event: Event, id: string | undefined, name: string, seq: number): Turn {
  if (id === undefined || findPart(turn.parts, "call", id)) return turn;
  const part = newCall(id, name, { seq, startedAt: event.timestamp ?? null });
  return withParts(turn, insert(turn.parts, inSubagent(event), part));
}

/** What an event that becomes a notice says. */
export type NoticeValue = OwnEvents["agio.error" | "agio.notice" | "agio.compacted"];

/** A notice that a run wrote, by the name of its event; `at`: when. */
export function newNotice(
  id: string,
  name: string,
  value: NoticeValue,
  at: number | null,
  seq = 0,
): NoticePart {
  if ("text" in value) {
    return {
      kind: "notice",
      id,
      level: "notice",
      code: "compacted",
      message: summarisedWords(value.messages),
      detail: value.text,
      retryAt: null,
      seq,
    };
  }
  const { code, message } = value;
  const level = name === "agio.error" ? "error" : "notice";
  const wait = "retry_in_ms" in value ? value.retry_in_ms : undefined;
  const retryAt = wait === undefined || at === null ? null : at + wait;
  return { kind: "notice", id, level, code, message, retryAt, seq };
}

export function newCall(id: string, name: string, known: Partial<CallPart> = {}): CallPart {
  return {
    kind: "call",
    id,
    name,
    args: "",
    asked: false,
    result: null,
    resultSeq: 0,
    error: null,
    progress: null,
    answer: null,
    seq: 0,
    startedAt: null,
    endedAt: null,
    ...known,
  };
}

/**
 * Discards what came after an event: an attempt failed and is repeated under the same ids. A sub-agent's own attempts
 * are none of its caller's.
 */
function rewindParts(parts: Part[], seq: number): Part[] {
  return parts
    .filter((part) => part.kind === "subagent" || part.seq <= seq)
    .map((part) =>
      part.kind !== "call" || part.resultSeq <= seq
        ? part
        : { ...part, result: null, resultSeq: 0, error: null, endedAt: null },
    );
}

/** The number in the name of a step of ours, so that who joins late counts right. */
function stepNumber(name: string): number | undefined {
  const found = /^step-(\d+)$/.exec(name);
  return found ? Number(found[1]) : undefined;
}

function inSubagent(event: Event): string | undefined {
  return "subagentRunId" in event ? (event.subagentRunId ?? undefined) : undefined;
}

function lastId(turn: Turn, kind: Part["kind"]): string | undefined {
  return turn.parts.findLast((part) => part.kind === kind)?.id;
}

function withParts(turn: Turn, parts: Part[]): Turn {
  return parts === turn.parts ? turn : { ...turn, parts };
}

function changeCall(turn: Turn, id: string | undefined, change: (call: CallPart) => CallPart): Turn {
  return changePart(turn, "call", id, change);
}

type PartOf<Kind extends Part["kind"]> = Extract<Part, { kind: Kind }>;

function changePart<Kind extends Part["kind"]>(
  turn: Turn,
  kind: Kind,
  id: string | undefined,
  change: (part: PartOf<Kind>) => PartOf<Kind>,
): Turn {
  return withParts(turn, changeParts(turn.parts, kind, id, change));
}

/** Changes the newest part of an id, also inside sub-agents; the same list if there is none. */
export function changeParts<Kind extends Part["kind"]>(
  parts: Part[],
  kind: Kind,
  id: string | undefined,
  change: (part: PartOf<Kind>) => PartOf<Kind>,
): Part[] {
  for (let at = parts.length - 1; at >= 0; at--) {
    const part = parts[at] as Part;
    if (part.id === id && (part.kind as string) === kind) {
      const changed = change(part as PartOf<Kind>);
      return changed === part ? parts : parts.with(at, changed);
    }
    if (part.kind === "subagent") {
      const inner = changeParts(part.parts, kind, id, change);
      if (inner !== part.parts) return parts.with(at, { ...part, parts: inner });
    }
  }
  return parts;
}

function findPart(parts: Part[], kind: Part["kind"], id: string | undefined): Part | undefined {
  for (const part of parts) {
    if (part.id === id && part.kind === kind) return part;
    const inner = part.kind === "subagent" ? findPart(part.parts, kind, id) : undefined;
    if (inner) return inner;
  }
  return undefined;
}

/** Adds a part at the end, in the subagent it belongs to if that is here. */
function insert(parts: Part[], subagent: string | undefined, part: Part): Part[] {
  if (subagent === undefined) return [...parts, part];
  const inside = changeParts(parts, "subagent", subagent, (owner) => ({
    ...owner,
    parts: [...owner.parts, part],
  }));
  return inside === parts ? [...parts, part] : inside;
}
