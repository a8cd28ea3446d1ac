/** What the thread's list is made of, in order. */
import type { ReactNode } from "react";
import type { Outgoing } from "@/realtime/outbox";
import type { Turn } from "@/state/thread";
import { ForkNote } from "./fork-note";

export interface ThreadRows {
  turns: readonly Turn[];
  /** Messages the thread does not have yet. */
  waiting: readonly Outgoing[];
  /** The session this one was copied from. */
  forkedFrom: string | null;
}

export type Row =
  | { kind: "turn"; key: string; turn: Turn; answerable: boolean; retryable: boolean }
  | { kind: "waiting"; key: string; item: Outgoing }
  | { kind: "note"; key: string; note: ReactNode };

const ENDED = new Set<Turn["status"]>(["completed", "failed", "cancelled", "expired"]);

/** Only the newest turn can be answered or tried again, and only while nothing comes after it. */
export function rowsOf({ turns, waiting, forkedFrom }: ThreadRows): Row[] {
  const newest = turns.findLast((turn) => turn.status !== "queued");
  const last = turns.at(-1);
  const rows: Row[] = turns.map((turn) => ({
    kind: "turn",
    key: turn.runId,
    turn,
    answerable: turn === newest && turn.status === "interrupted" && turn.questions.length > 0,
    retryable: turn === last && waiting.length === 0 && ENDED.has(turn.status),
  }));
  if (forkedFrom) rows.unshift({ kind: "note", key: "forked", note: <ForkNote sessionId={forkedFrom} /> });
  return [...rows, ...waiting.map((item): Row => ({ kind: "waiting", key: item.key, item }))];
}
