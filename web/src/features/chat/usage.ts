/** What a chat came to in tokens and money. */
import { useMemo, useRef } from "react";
import type { RunView } from "@/protocol/api";
import type { Turn } from "@/state/thread";

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  /** Null if nothing in it has a price. */
  cost: number | null;
}

export type Spending = Pick<Turn, "runId" | "metrics" | "spent">;

const NEWEST = 5;

/** Sums up what the server knows of the ended runs, and what the thread knows of those it does not. */
export function usageOf(runs: readonly RunView[], turns: readonly Spending[]): Usage {
  const ended = runs.filter((run) => run.input_tokens !== null && run.ended_at !== null);
  const known = new Set(ended.map(({ id }) => id));
  const all = [
    ...ended.map((run) => ({
      inputTokens: run.input_tokens ?? 0,
      outputTokens: run.output_tokens ?? 0,
      cost: run.cost,
    })),
    ...turns.filter((turn) => !known.has(turn.runId)).map(spentOn),
  ];
  return all.reduce(
    (sum, one) => ({
      inputTokens: sum.inputTokens + one.inputTokens,
      outputTokens: sum.outputTokens + one.outputTokens,
      cost: one.cost === null ? sum.cost : (sum.cost ?? 0) + one.cost,
    }),
    { inputTokens: 0, outputTokens: 0, cost: null } as Usage,
  );
}

function spentOn({ metrics, spent }: Spending): Usage {
  if (!metrics) return spent;
  return {
    inputTokens: metrics.input_tokens,
    outputTokens: metrics.output_tokens,
    cost: metrics.cost ?? null,
  };
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
