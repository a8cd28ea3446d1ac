/** How a call stands, from what is known of it and of its turn. */
import type { CallPart, Turn } from "@/state/thread";

export type CallState =
  | "writing"
  | "running"
  | "asking"
  | "done"
  | "failed"
  | "rejected"
  | "unanswered"
  | "pending"
  | "ended";

export function stateOf(call: CallPart, turn: Turn, live: boolean): CallState {
  if (call.error === "not_approved") return "rejected";
  if (call.error === "not_run") return "unanswered";
  if (call.error !== null) return "failed";
  if (call.result !== null) return "done";
  if (turn.pending.includes(call.id)) return "pending";
  if (isAsked(call, turn)) return "asking";
  if (!live) return "ended";
  return call.asked ? "running" : "writing";
}

/** Whether a person was asked about it, and has said yes. */
export function isApproved(call: CallPart, turn: Turn): boolean {
  return (
    isAsked(call, turn) &&
    call.result !== null &&
    stateOf(call, turn, false) !== "rejected" &&
    call.error !== "not_run"
  );
}

function isAsked(call: CallPart, turn: Turn): boolean {
  return turn.status === "interrupted" && turn.questions.some((question) => question.callId === call.id);
}

export function durationOf(call: CallPart): number | null {
  return call.startedAt !== null && call.endedAt !== null ? Math.max(0, call.endedAt - call.startedAt) : null;
}
