/** How a call stands, from what is known of it and of its turn. */
import type { CallPart, Question, Turn } from "@/state/thread";

export type CallState =
  | "writing"
  | "running"
  | "asking"
  | "needing"
  | "allowed"
  | "done"
  | "failed"
  | "rejected"
  | "unanswered"
  | "pending"
  | "ended";

/** What a person said about it: yes, or yes with other arguments. A no is a state. */
export type Verdict = "approved" | "changed" | "answered" | null;

export function stateOf(call: CallPart, turn: Turn, live: boolean): CallState {
  if (call.error === "not_approved" || (call.answer?.approved === false && !call.answer.toTool))
    return "rejected";
  if (call.error === "not_run") return "unanswered";
  if (call.error !== null) return "failed";
  if (call.result !== null) return "done";
  if (call.answer) return "allowed"; // a later run makes the call; its result will join it here
  if (turn.pending.includes(call.id)) return "pending";
  if (isAsked(call, turn)) return "asking";
  if (isAsked(call, turn, true)) return "needing";
  if (!live) return "ended";
  return call.asked ? "running" : "writing";
}

export function verdictOf(call: CallPart, turn: Turn): Verdict {
  if (call.answer?.toTool) return "answered";
  if (call.answer) return call.answer.approved ? (call.answer.editedArgs ? "changed" : "approved") : null;
  const said = call.error !== "not_approved" && call.error !== "not_run";
  return isAsked(call, turn) && call.result !== null && said ? "approved" : null;
}

/** Whether a person was asked about it at the end of its turn: if it may run, or what its tool wants to know. */
function isAsked(call: CallPart, turn: Turn, byTool = false): boolean {
  const asks = ({ callId, input }: Question) => callId === call.id && (input !== null) === byTool;
  return turn.status === "interrupted" && turn.questions.some(asks);
}

export function durationOf(call: CallPart): number | null {
  // From the question on it was a person's time, not the call's.
  if (call.answer || call.startedAt === null || call.endedAt === null) return null;
  return Math.max(0, call.endedAt - call.startedAt);
}
