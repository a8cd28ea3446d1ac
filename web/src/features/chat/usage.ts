/** What a chat came to in tokens and money. */
import { useMemo, useRef } from "react";
import { NOTHING_USED, sumUsage, type Usage, usageOfMetrics, usageOfRun } from "@/lib/usage-words";
import type { RunView } from "@/protocol/api";
import type { Turn } from "@/state/thread";

export type Spending = Pick<Turn, "runId" | "metrics" | "spent">;

const NEWEST = 5;

/** Sums up what the server knows of the ended runs, and what the thread knows of those it does not. What was copied with
 * the chat was paid for where it was said. */
export function usageOf(runs: readonly RunView[], turns: readonly Spending[]): Usage {
  const isCopy = (run: RunView) => run.copied_from !== null;
  const known = new Set(runs.filter((run) => run.ended_at !== null || isCopy(run)).map(({ id }) => id));
  const paid = runs.filter((run) => run.ended_at !== null && !isCopy(run));
  const all = [...paid.map(usageOfRun), ...turns.filter((turn) => !known.has(turn.runId)).map(spentOn)];
  return all.reduce(sumUsage, NOTHING_USED);
}

function spentOn({ metrics, spent }: Spending): Usage {
  return metrics ? usageOfMetrics(metrics) : spent;
}

/** The spending of the newest turns; the same list while none of it changes, however fast the text comes. */
export function useNewest(turns: readonly Turn[]): readonly Spending[] {
  const last = useRef<readonly Spending[]>([]);
  return useMemo(() => {
    const newest = turns.slice(-NEWEST).map(({ runId, metrics, spent }) => ({ runId, metrics, spent }));
    const same =
      newest.length === last.current.length &&
      newest.every(({ runId, metrics, spent }, at) => {
        const known = last.current[at];
        return known?.runId === runId && known.metrics === metrics && known.spent === spent;
      });
    if (!same) last.current = newest;
    return last.current;
  }, [turns]);
}
