/** A thread from stored messages: how a conversation begins when it is opened, before its events come. */
import { UNKNOWN_FAILURE } from "@/lib/failure-words";
import { usageOfRun } from "@/lib/usage-words";
import type { InterruptView, MessageView } from "@/protocol/api";
import type { Content } from "@/protocol/commands";
import type { Message, OwnEvents } from "@/protocol/events";
import { newCall, newNotice } from "./fold";
import {
  type CallPart,
  isCorrection,
  newTurn,
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

/** Makes turns of messages in the order of the conversation; a result joins its call, in whichever turn that is. */
export function turnsOf(
  messages: readonly MessageView[],
  runs: ReadonlyMap<string, KnownRun> = new Map(),
  strays: Strays = new Map(),
): Turn[] {
  const turns = new Map<string, Turn>();
  const calls = new Map<string, CallPart>();
  for (const view of messages) {
    const turn = turns.get(view.run_id) ?? begun(view, runs.get(view.run_id));
    turns.set(view.run_id, turn);
    addMessage(turn, calls, strays, view);
  }
  return [...turns.values()];
}

/** Puts an older page before what a thread has; a run that lies on both pages becomes one turn. */
export function prependTurns(thread: Thread, older: Turn[]): Thread {
  const first = thread.turns[0];
  const last = older.at(-1);
  if (!first || !last || first.runId !== last.runId) return { ...thread, turns: [...older, ...thread.turns] };
  const joined = { ...first, asked: [...last.asked, ...first.asked], parts: [...last.parts, ...first.parts] };
  return { ...thread, turns: [...older.slice(0, -1), joined, ...thread.turns.slice(1)] };
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
  const waiting = turn.parts.flatMap(({ id, kind }) => (kind === "call" && pending.includes(id) ? [id] : []));
  return waiting.length > 0 ? { ...turn, pending: waiting } : turn;
}

/** Puts the open questions to the turn that asked them: a stored conversation does not hold them. */
export function withQuestions(turn: Turn, open: readonly InterruptView[]): Turn {
  const questions = open
    .filter((asked) => asked.run_id === turn.runId && asked.state === "open")
    .map(({ id, tool_call_id, message, expires_at }) => ({
      id,
      callId: tool_call_id,
      message,
      expiresAt: expires_at,
    }));
  return questions.length > 0 ? { ...turn, status: "interrupted", questions } : turn;
}

/** Notes the answers to approval questions: approved, unless the result says otherwise. */
export function withAnswers(turn: Turn, asked: readonly InterruptView[]): Turn {
  const answered = new Set(
    asked.flatMap(({ run_id, state, tool_call_id }) =>
      run_id === turn.runId && state === "resolved" ? [tool_call_id] : [],
    ),
  );
  if (answered.size === 0) return turn;
  const parts = turn.parts.map((part) =>
    part.kind === "call" && part.result !== null && answered.has(part.id)
      ? { ...part, answer: { approved: part.error !== "not_approved", reason: null, editedArgs: null } }
      : part,
  );
  return { ...turn, parts };
}

function addMessage(turn: Turn, calls: Map<string, CallPart>, strays: Strays, view: MessageView): void {
  const message = view.message as unknown as Message;
  switch (message.role) {
    case "user":
      if (isCorrection(message.id, turn.runId)) {
        turn.parts.push(finished("system", message.id, textOf(message.content as Content)));
        break;
      }
      turn.asked.push({ id: message.id, content: message.content as Content, at: view.created_at });
      break;
    case "system":
    case "developer":
      turn.parts.push(finished("system", message.id, message.content));
      break;
    case "reasoning":
      turn.parts.push({
        ...finished("reasoning", message.id, message.content),
        startedAt: timeIn(message.metadata, "began_at"),
        endedAt: timeIn(message.metadata, "ended_at"),
      });
      break;
    case "assistant":
      if (message.content) turn.parts.push(finished("text", message.id, message.content));
      for (const call of message.toolCalls ?? []) {
        const part = newCall(call.id, call.function.name, {
          args: call.function.arguments,
          asked: true,
          startedAt: timeIn(call.metadata, "began_at"),
          ...strays.get(call.id),
        });
        calls.set(call.id, part);
        turn.parts.push(part);
      }
      break;
    case "tool": {
      const result = {
        result: message.content as Content,
        error: message.error ?? null,
        endedAt: timeIn(message.metadata, "ended_at"),
      };
      const call = calls.get(message.toolCallId);
      if (!call) strays.set(message.toolCallId, result);
      else Object.assign(call, result);
      break;
    }
    case "activity": {
      const told = message.content as OwnEvents["agio.error"];
      turn.parts.push(newNotice(message.id, message.activityType, told, timeIn(message.metadata, "at")));
      break;
    }
    default:
      break;
  }
}

/** When the event of a message happened; messages of earlier versions do not say. */
function timeIn(metadata: unknown, name: string): number | null {
  const at = (metadata as Record<string, unknown> | undefined)?.[name];
  return typeof at === "number" ? at : null;
}

function finished(kind: TextPart["kind"], id: string, text: string): TextPart {
  return { kind, id, text, seq: 0, startedAt: null, endedAt: null };
}
