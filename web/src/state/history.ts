/** A thread from stored messages: how a conversation begins when it is opened, before its events come. */
import { UNKNOWN_FAILURE } from "@/lib/failure-words";
import { usageOfRun } from "@/lib/usage-words";
import type { InterruptView, MessageView } from "@/protocol/api";
import type { Content } from "@/protocol/commands";
import type { Handoff, Message } from "@/protocol/events";
import { changeParts, type NoticeValue, newCall, newNotice } from "./fold";
import {
  type Asked,
  answered,
  type CallPart,
  findCall,
  type GivenAnswer,
  hasBegun,
  type InputPart,
  isCorrection,
  mapParts,
  newTurn,
  type Part,
  type SubagentPart,
  subagentOf,
  type TextPart,
  type Thread,
  type Turn,
  type TurnStatus,
  textOf,
} from "./thread";

/** What the server knows of a run beyond its messages. */
export interface KnownRun {
  id: string;
  status: TurnStatus;
  started_at: number | null;
  ended_at: number | null;
  error_code?: string | null;
  error_message?: string | null;
  steps?: number | null;
  input_tokens?: number | null;
  output_tokens?: number | null;
  cost?: number | null;
  usage_partial?: boolean | null;
}

/** Results whose calls lie on an older page that was not read yet, by call. */
export type Strays = Map<string, Pick<CallPart, "result" | "error" | "endedAt">>;

/** The call a sub-agent answers, and the sub-agent that made it. */
interface Caller {
  call: CallPart;
  inside: string | undefined;
}

/** What is known so far of the messages that are read. */
interface Known {
  strays: Strays;
  calls: Map<string, CallPart>;
  callers: Map<string, Caller>;
  tasks: Map<string, Pick<SubagentPart, "name" | "task">>;
}

/** Makes turns of messages in the order of the conversation; a result joins its call, in whichever turn that is. */
export function turnsOf(
  messages: readonly MessageView[],
  runs: ReadonlyMap<string, KnownRun> = new Map(),
  strays: Strays = new Map(),
): Turn[] {
  const turns = new Map<string, Turn>();
  const known: Known = { strays, calls: new Map(), callers: new Map(), tasks: new Map() };
  for (const view of messages) {
    const turn = turns.get(view.run_id) ?? begun(view, runs.get(view.run_id));
    turns.set(view.run_id, turn);
    addMessage(turn, known, view);
  }
  return [...turns.values()].map((turn) => ({
    ...turn,
    parts: mapParts(turn.parts, (part) => (part.kind === "subagent" ? ended(part, turn, known) : part)),
  }));
}

/** Puts an older page before what a thread has; a run that lies on both pages becomes one turn. */
export function prependTurns(thread: Thread, older: Turn[]): Thread {
  const first = thread.turns[0];
  const last = older.at(-1);
  if (!first || !last || first.runId !== last.runId) return { ...thread, turns: [...older, ...thread.turns] };
  const [asked, said] = hasBegun(last.parts) ? [[], first.asked.map(inputOf)] : [first.asked, []];
  const parts = joined(last.parts, [...said, ...first.parts]);
  const turn = { ...first, asked: [...last.asked, ...asked], parts };
  return { ...thread, turns: [...older.slice(0, -1), turn, ...thread.turns.slice(1)] };
}

/** The parts of two pages; a sub-agent that is on both is one. */
function joined(older: Part[], newer: readonly Part[]): Part[] {
  let parts = older;
  const only = newer.filter((part) => {
    if (part.kind !== "subagent") return true;
    const before = parts;
    parts = changeParts(parts, "subagent", part.id, (known) => ({
      ...known,
      parts: joined(known.parts, part.parts),
    }));
    return parts === before;
  });
  return [...parts, ...only];
}

function begun(view: MessageView, run: KnownRun | undefined): Turn {
  const status = run?.status ?? (view.pos === null ? "queued" : "completed");
  return {
    ...newTurn(view.run_id, status),
    startedAt: run?.started_at ?? null,
    endedAt: run?.ended_at ?? null,
    step: run?.steps ?? 0,
    spent: usageOfRun(run ?? {}),
    error: run?.error_code ? { code: run.error_code, message: run.error_message ?? UNKNOWN_FAILURE } : null,
  };
}

/** Notes which calls wait for results of a client of the run's. */
export function withPending(turn: Turn, pending: readonly string[]): Turn {
  const waiting = pending.filter((id) => findCall(turn.parts, id));
  return waiting.length > 0 ? { ...turn, pending: waiting } : turn;
}

/** Puts the open questions to the turn that asked them: a stored conversation does not hold them. */
export function withQuestions(turn: Turn, open: readonly InterruptView[]): Turn {
  const questions = open
    .filter(({ state, run_id, tool_call_id }) => {
      // A tool may ask in a later run than the call's, which then has no message and so no turn of its own.
      return state === "open" && (run_id === turn.runId || findCall(turn.parts, tool_call_id));
    })
    .map(({ id, tool, tool_call_id, message, expires_at, reason, form, url }) => ({
      id,
      callId: tool_call_id,
      tool,
      message,
      expiresAt: expires_at,
      input: reason === "input_required" ? { form, url } : null,
    }));
  return questions.length > 0 ? { ...turn, status: "interrupted", questions } : turn;
}

/** Notes the answers to approval questions: approved, unless the result says otherwise. */
export function withAnswers(turn: Turn, asked: readonly InterruptView[]): Turn {
  const answered = new Map(
    asked.flatMap(({ run_id, state, tool_call_id, reason }) =>
      run_id === turn.runId && state === "resolved" ? [[tool_call_id, reason === "input_required"]] : [],
    ),
  );
  if (answered.size === 0) return turn;
  const parts = mapParts(turn.parts, (part) =>
    part.kind === "call" && part.result !== null && answered.has(part.id)
      ? { ...part, answer: givenAnswer(part.error !== "not_approved", answered.get(part.id) ?? false) }
      : part,
  );
  return { ...turn, parts };
}

function givenAnswer(approved: boolean, toTool: boolean): GivenAnswer {
  return { approved, reason: null, editedArgs: null, toTool };
}

function addMessage(turn: Turn, known: Known, view: MessageView): void {
  const message = view.message as unknown as Message;
  const inside = message.subagentRunId;
  if (message.role === "user" && inside && message.id === `msg_${inside}`)
    known.tasks.set(inside, { name: message.name ?? "", task: textOf(message.content as Content) });
  const parts = partsOf(turn, known, inside);
  switch (message.role) {
    case "user": {
      const content = message.content as Content;
      const said = { id: message.id, content, at: view.created_at };
      if (isCorrection(message.id, inside ?? turn.runId))
        parts.push(finished("system", message.id, textOf(content)));
      else if (inside) break;
      else if (view.pos === null && turn.status !== "queued") turn.joining.push(said);
      else if (hasBegun(parts)) parts.push(inputOf(said));
      else turn.asked.push(said);
      break;
    }
    case "system":
    case "developer":
      parts.push(finished("system", message.id, message.content));
      break;
    case "reasoning":
      parts.push({
        ...finished("reasoning", message.id, message.content),
        startedAt: timeIn(message.metadata, "began_at"),
        endedAt: timeIn(message.metadata, "ended_at"),
      });
      break;
    case "assistant":
      if (message.content) parts.push(finished("text", message.id, message.content));
      for (const call of message.toolCalls ?? []) {
        const part = newCall(call.id, call.function.name, {
          args: call.function.arguments,
          asked: true,
          startedAt: timeIn(call.metadata, "began_at"),
          ...known.strays.get(call.id),
        });
        known.calls.set(call.id, part);
        known.callers.set(subagentOf(call.id), { call: part, inside });
        parts.push(part);
      }
      break;
    case "tool": {
      const result = {
        result: message.content as Content,
        error: message.error ?? null,
        endedAt: timeIn(message.metadata, "ended_at"),
      };
      const call = known.calls.get(message.toolCallId);
      if (!call) known.strays.set(message.toolCallId, result);
      else Object.assign(call, result);
      break;
    }
    case "activity": {
      if (message.activityType === "agio.handoff") {
        parts.push({ kind: "handoff", id: message.id, ...(message.content as unknown as Handoff), seq: 0 });
        break;
      }
      const notice = message.content as NoticeValue;
      parts.push(newNotice(message.id, message.activityType, notice, timeIn(message.metadata, "at")));
      break;
    }
    default:
      break;
  }
}

/** Where messages of a turn belong: its parts, or those of a sub-agent in it. */
function partsOf(turn: Turn, known: Known, subagent: string | undefined): Part[] {
  if (!subagent) return turn.parts;
  const here = findSubagent(turn.parts, subagent);
  if (here) return here.parts;
  const about = known.tasks.get(subagent) ?? { name: "", task: "" };
  const part: SubagentPart = {
    kind: "subagent",
    id: subagent,
    ...about,
    parts: [],
    status: "running",
    message: null,
    seq: 0,
  };
  partsOf(turn, known, known.callers.get(subagent)?.inside).push(part);
  return part.parts;
}

function findSubagent(parts: readonly Part[], id: string): SubagentPart | undefined {
  for (const part of parts) {
    if (part.kind !== "subagent") continue;
    const found = part.id === id ? part : findSubagent(part.parts, id);
    if (found) return found;
  }
  return undefined;
}

/** A sub-agent as its call and its run left it. */
function ended(part: SubagentPart, turn: Turn, { callers }: Known): SubagentPart {
  const call = callers.get(part.id)?.call;
  if (call && call.result !== null) return answered(part, call.result, call.error);
  if (turn.status === "running") return part;
  return { ...part, status: call || turn.status === "interrupted" ? "waiting" : "completed" };
}

function inputOf(said: Asked): InputPart {
  return { kind: "input", ...said, seq: 0 };
}

/** When the event of a message happened; messages of earlier versions do not say. */
function timeIn(metadata: unknown, name: string): number | null {
  const at = (metadata as Record<string, unknown> | undefined)?.[name];
  return typeof at === "number" ? at : null;
}

function finished(kind: TextPart["kind"], id: string, text: string): TextPart {
  return { kind, id, text, seq: 0, startedAt: null, endedAt: null };
}
