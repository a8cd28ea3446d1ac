/** A run in words: how long it took, what it used. */
import { formatCost, formatCount, formatDuration } from "@/lib/format";
import { USAGE_UNKNOWN, type Usage } from "@/lib/usage-words";
import type { RunView } from "@/protocol/api";

export const NOTHING = "–";

export const titleOf = (run: RunView): string => run.title.trim() || "Continued after approval";

/** How long a run has taken, up to now if it is in progress; null if it has not started. */
export function runMs(run: RunView, now: number): number | null {
  if (run.started_at === null) return null;
  return Math.max(0, (run.ended_at ?? now) - run.started_at);
}

export function durationWords(run: RunView, now: number): string {
  const ms = runMs(run, now);
  return ms === null ? NOTHING : formatDuration(ms);
}

/** "120 input tokens, 30 output", or that the count is unavailable. */
export function readAndWritten(usage: Usage): string {
  if (usage.inputTokens === null || usage.outputTokens === null) return USAGE_UNKNOWN;
  const least = usage.partial ? "at least " : "";
  return `${least}${formatCount(usage.inputTokens)} input tokens, ${formatCount(usage.outputTokens)} output`;
}

/** A token count, known only if a model call reported its usage. */
export function countWords(count: number | undefined, usage: Usage): string {
  return usage.inputTokens === null
    ? NOTHING
    : `${usage.partial ? "at least " : ""}${formatCount(count ?? 0)}`;
}

export function costWords(cost: number | null | undefined): string {
  return cost === null || cost === undefined ? NOTHING : formatCost(cost);
}
