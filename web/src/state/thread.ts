/** What a conversation looks like: turns in order, each a run with what was asked and the parts of its answer. */
import type { JsonObject } from "@/lib/json";
import { NOTHING_USED, type Usage } from "@/lib/usage-words";
import type { Content } from "@/protocol/commands";
import type { Handoff, Metrics } from "@/protocol/events";

export type TurnStatus =
  | "queued"
  | "running"
  | "completed"
  | "failed"
  | "cancelled"
  | "interrupted"
  | "expired";

export interface Asked {
  id: string;
  content: Content;
  at: number | null;
}

export interface TextPart {
  /** system: a word to the model that is neither the person's nor the agent's. */
  kind: "text" | "reasoning" | "system";
  id: string;
  text: string;
  /** The number of the event it began with; 0 if it came as a finished message. */
  seq: number;
  startedAt: number | null;
  endedAt: number | null;
}

export interface GivenAnswer {
  approved: boolean;
  reason: string | null;
  /** The arguments it was called with instead of the model's. */
  editedArgs: Record<string, unknown> | null;
  /** It answers what the tool asked during the call, which goes on whatever the answer. */
  toTool: boolean;
}

export interface CallPart {
  kind: "call";
  id: string;
  name: string;
  /** JSON text, as the model writes it. */
  args: string;
  /** Whether the arguments are complete. */
  asked: boolean;
  result: Content | null;
  resultSeq: number;
  /** The error code of the result. */
  error: string | null;
  progress: { message?: string; fraction?: number } | null;
  /** A person's answer to the approval question; null if there was none, or it is unknown here. */
  answer: GivenAnswer | null;
  seq: number;
  startedAt: number | null;
  endedAt: number | null;
}

/** A message of the person's that the run took while it was in progress. */
export interface InputPart extends Asked {
  kind: "input";
  seq: number;
}

export interface SubagentPart {
  kind: "subagent";
  id: string;
  name: string;
  /** What it was asked to do. */
  task: string;
  parts: Part[];
  /** waiting: for a person or a client; a later run continues it. */
  status: "running" | "waiting" | "completed" | "failed";
  message: string | null;
  seq: number;
}

export interface NoticePart {
  kind: "notice";
  id: string;
  level: "notice" | "error";
  code: string;
  message: string;
  /** More of it, unfolded on demand. */
  detail?: string;
  retryAt: number | null;
  seq: number;
}

export interface HandoffPart extends Handoff {
  kind: "handoff";
  id: string;
  seq: number;
}

export type Part = TextPart | CallPart | SubagentPart | NoticePart | HandoffPart | InputPart;

/** A question to a person about a call. */
export interface Question {
  id: string;
  callId: string;
  /** The name of the tool; empty if the call is not known here. */
  tool: string;
  message: string;
  expiresAt: number | null;
  /** What the call's tool asks; null: whether the call may run. */
  input: AskedInput | null;
}

/** A form to fill in or a page to open, for a tool during its call. */
export interface AskedInput {
  form: JsonObject | null;
  url: string | null;
}

/** One run: what it was given, and what came of it. */
export interface Turn {
  runId: string;
  asked: Asked[];
  parts: Part[];
  /** Messages for this run that its log does not have yet. */
  joining: Asked[];
  status: TurnStatus;
  step: number;
  startedAt: number | null;
  endedAt: number | null;
  metrics: Metrics | null;
  /** The usage of the steps so far, while the run is in progress. */
  spent: Usage;
  error: { code: string; message: string } | null;
  questions: Question[];
  /** Calls that wait for this client's results. */
  pending: string[];
}

export interface Thread {
  turns: Turn[];
  /** The position of the last event that is in here. */
  pos: number;
  /** The run to which the path of these turns leads; it may be without a turn, for want of messages. */
  leaf: string | null;
  /** A run began on a path that is not here: the thread must be read again. */
  lost: boolean;
}

export const EMPTY: Thread = { turns: [], pos: 0, leaf: null, lost: false };

export function newTurn(runId: string, status: TurnStatus = "running"): Turn {
  return {
    runId,
    asked: [],
    parts: [],
    joining: [],
    status,
    step: 0,
    startedAt: null,
    endedAt: null,
    metrics: null,
    spent: NOTHING_USED,
    error: null,
    questions: [],
    pending: [],
  };
}

/** The turn that is going on; undefined when nothing is. */
export function runningTurn(thread: Thread): Turn | undefined {
  return thread.turns.findLast((turn) => turn.status === "running");
}

/** The questions that are open: those of the newest turn that has begun. */
export function openQuestions(thread: Thread): Question[] {
  const newest = thread.turns.findLast((turn) => turn.status !== "queued");
  return newest?.status === "interrupted" ? newest.questions : [];
}

/** The agent that has the conversation after these turns; null if none of them handed it over. */
export function activeAgent(turns: readonly Turn[]): string | null {
  const handoffs = turns.flatMap(({ parts }) => parts.filter((part) => part.kind === "handoff"));
  return handoffs.at(-1)?.to ?? null;
}

/** The call of an id, also one of a sub-agent's. */
export function findCall(parts: readonly Part[], id: string): CallPart | null {
  for (const part of parts) {
    if (part.kind === "call" && part.id === id) return part;
    const inside = part.kind === "subagent" ? findCall(part.parts, id) : null;
    if (inside) return inside;
  }
  return null;
}

/** Changes every part, those inside sub-agents first. */
export function mapParts(parts: readonly Part[], change: (part: Part) => Part): Part[] {
  return parts.map((part) =>
    change(part.kind === "subagent" ? { ...part, parts: mapParts(part.parts, change) } : part),
  );
}

/** The id of the sub-agent that answers a call. */
export function subagentOf(callId: string): string {
  return callId.replace(/^call_/, "sub_");
}

/** A sub-agent whose call has its result. */
export function answered(part: SubagentPart, result: Content, error: string | null): SubagentPart {
  if (error === null) return { ...part, status: "completed", message: null };
  return { ...part, status: "failed", message: textOf(result).replace(`${part.name} failed: `, "") };
}

/** Everything the person said in a turn. */
export function saidIn({ asked, parts }: Turn): Asked[] {
  return [...asked, ...parts.filter((part) => part.kind === "input")];
}

/** Whether an answer has begun: what is said from then on stands inside it. */
export function hasBegun(parts: readonly Part[]): boolean {
  return parts.some(({ kind }) => kind !== "system");
}

/** The text of a message, without what is not text. */
export function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/**
 * The id of the server's message about an answer that did not match the schema; it is stored like a user message.
 * `owner` is the run or the sub-agent.
 */
export function correctionId(owner: string, number: number): string {
  return `${owner}_c${number}`;
}

export function isCorrection(id: string, owner: string): boolean {
  return id.startsWith(`${owner}_c`) && /^\d+$/.test(id.slice(owner.length + 2));
}
