/** What a run used, in all and by step: made of the measurements in its log. */
import { NOTHING_USED, sumUsage, usageOfMetrics } from "@/lib/usage-words";
import { type Event, type Metrics, ownValue } from "@/protocol/events";

interface RunMetrics {
  total: Metrics | null;
  /** By number; of a step that was measured twice the last counts. */
  steps: Metrics[];
}

export interface Share {
  name: "model" | "tools" | "other";
  ms: number;
}

export function metricsOf(events: readonly Event[]): RunMetrics {
  const steps = new Map<number, Metrics>();
  let total: Metrics | null = null;
  for (const event of events) {
    const metrics = ownValue(event, "agio.metrics");
    if (metrics?.scope === "run") total = metrics;
    if (metrics?.scope === "step") steps.set(metrics.step ?? steps.size + 1, metrics);
  }
  const sorted = [...steps].sort(([one], [other]) => one - other).map(([, metrics]) => metrics);
  return { total: total ?? sumOf(sorted), steps: sorted };
}

/** Where the time of a run went. What neither models nor tools took is waiting, storing and handing over. */
export function sharesOf({ model_ms, tool_ms }: Metrics, runMs: number): Share[] {
  const other = Math.max(0, runMs - model_ms - tool_ms);
  const shares: Share[] = [
    { name: "model", ms: model_ms },
    { name: "tools", ms: tool_ms },
    { name: "other", ms: other },
  ];
  return shares.filter((share) => share.ms > 0);
}

/** The steps so far of a run in progress. */
function sumOf(steps: readonly Metrics[]): Metrics | null {
  const first = steps[0];
  if (!first) return null;
  const add = (pick: (step: Metrics) => number | undefined) =>
    steps.reduce((sum, step) => sum + (pick(step) ?? 0), 0);
  const used = steps.map(usageOfMetrics).reduce(sumUsage, NOTHING_USED);
  return {
    scope: "run",
    steps: steps.length,
    ...(used.inputTokens === null || used.outputTokens === null
      ? {}
      : {
          input_tokens: used.inputTokens,
          output_tokens: used.outputTokens,
          cached_input_tokens: add((step) => step.cached_input_tokens),
          reasoning_tokens: add((step) => step.reasoning_tokens),
        }),
    ...(used.partial ? { usage_partial: true } : {}),
    model_ms: add((step) => step.model_ms),
    tool_ms: add((step) => step.tool_ms),
    model_calls: add((step) => step.model_calls),
    ...(first.first_token_ms === undefined ? {} : { first_token_ms: first.first_token_ms }),
    ...(used.cost === null ? {} : { cost: used.cost }),
  };
}
