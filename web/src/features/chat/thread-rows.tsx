/** What the thread's list is made of, in order. */
import { type ReactNode, Suspense } from "react";
import type { Branch, SuggestionView } from "@/protocol/api";
import type { Outgoing } from "@/realtime/outbox";
import type { Turn } from "@/state/thread";
import { ForkNote } from "./fork-note";
import { SuggestedMemories } from "./messages/later";

export interface ThreadRows {
  turns: readonly Turn[];
  /** Messages the thread does not have yet. */
  waiting: readonly Outgoing[];
  /** The session this one was copied from. */
  forkedFrom: string | null;
  /** The versions of a turn, by its run. */
  versions: ReadonlyMap<string, Branch>;
  sessionId: string;
  /** Memories that were suggested in the chat and wait for a decision. */
  suggestions: readonly SuggestionView[];
}

export type Row =
  | {
      kind: "turn";
      key: string;
      turn: Turn;
      answerable: boolean;
      retryable: boolean;
      last: boolean;
      branch: Branch | null;
    }
  | { kind: "waiting"; key: string; item: Outgoing }
  | { kind: "note"; key: string; note: ReactNode };

const ENDED = new Set<Turn["status"]>(["completed", "failed", "cancelled", "expired"]);

/** Only the newest turn can be answered. The versions of a turn have one key, so that it stays in its place. */
export function rowsOf(given: ThreadRows): Row[] {
  const { turns, waiting, forkedFrom, versions, sessionId, suggestions } = given;
  const newest = turns.findLast((turn) => turn.status !== "queued");
  const rows: Row[] = turns.map((turn, at) => {
    const branch = versions.get(turn.runId) ?? null;
    return {
      kind: "turn",
      key: branch?.alternatives[0]?.run_id ?? turn.runId,
      turn,
      answerable: turn === newest && turn.status === "interrupted" && turn.questions.length > 0,
      retryable: isRetryable(turn, turns[at + 1]),
      last: at === turns.length - 1 && waiting.length === 0,
      branch,
    };
  });
  if (forkedFrom) rows.unshift({ kind: "note", key: "forked", note: <ForkNote sessionId={forkedFrom} /> });
  if (suggestions.length > 0) {
    const card = (
      <Suspense>
        <SuggestedMemories sessionId={sessionId} suggestions={suggestions} />
      </Suspense>
    );
    rows.push({ kind: "note", key: "suggested", note: card });
  }
  return [...rows, ...waiting.map((item): Row => ({ kind: "waiting", key: item.key, item }))];
}

/** The versions by each run that is one of them, so that another one that is chosen has them at once. */
export function versionsOf(branches: readonly Branch[]): Map<string, Branch> {
  return new Map(
    branches.flatMap(({ alternatives }) =>
      alternatives.map(({ run_id }): [string, Branch] => [run_id, { run_id, alternatives }]),
    ),
  );
}

/** A message can be answered again once its answer has ended, be it in a later turn, after a question. */
function isRetryable(turn: Turn, next: Turn | undefined): boolean {
  if (next?.asked.length === 0) return false;
  return ENDED.has(turn.status) || (turn.status === "interrupted" && next !== undefined);
}
