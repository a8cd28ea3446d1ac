/** A run in words: how long it took, what it used. */
import { formatCost, formatDuration } from "@/lib/format";
import type { RunView } from "@/protocol/api";

export const NOTHING = "–";

export const titleOf = (run: RunView): string => run.title.trim() || "Went on after an answer";

/** How long a run has taken, up to now if it goes on; null if it has not begun. */
export function runMs(run: RunView, now: number): number | null {
  if (run.started_at === null) return null;
  return Math.max(0, (run.ended_at ?? now) - run.started_at);
}

export function durationWords(run: RunView, now: number): string {
  const ms = runMs(run, now);
  return ms === null ? NOTHING : formatDuration(ms);
}

export function costWords(cost: number | null | undefined): string {
  return cost === null || cost === undefined ? NOTHING : formatCost(cost);
}
