/** The usage that models reported: a figure that was not reported is null, never 0. */
import type { RunView } from "@/protocol/api";
import type { Metrics } from "@/protocol/events";
import { formatTokens } from "./format";

export interface Usage {
  /** Null if no model call reported it. */
  inputTokens: number | null;
  outputTokens: number | null;
  /** Null too if nothing in it has a price. */
  cost: number | null;
  /** Whether a model call did not tell what it used, as one that was stopped: the figures are of the rest. */
  partial: boolean;
}

export const USAGE_UNKNOWN = "token count unavailable";
export const PARTIAL_WORDS = "A stopped or failed model call did not report its usage.";
export const NOTHING_USED: Usage = { inputTokens: null, outputTokens: null, cost: null, partial: false };

type Counted = Partial<Pick<RunView, "steps" | "input_tokens" | "output_tokens" | "cost" | "usage_partial">>;

/** The usage of a run. An older server may send 0 for what was not reported. */
export function usageOfRun(run: Counted): Usage {
  return reported(run.input_tokens, run.output_tokens, run.cost, run.usage_partial, run.steps);
}

export function usageOfMetrics(metrics: Metrics): Usage {
  const { input_tokens, output_tokens, cost, usage_partial, model_calls } = metrics;
  return reported(input_tokens, output_tokens, cost, usage_partial ?? false, model_calls);
}

export function sumUsage(one: Usage, other: Usage): Usage {
  return {
    inputTokens: add(one.inputTokens, other.inputTokens),
    outputTokens: add(one.outputTokens, other.outputTokens),
    cost: add(one.cost, other.cost),
    partial: one.partial || other.partial,
  };
}

/** "950 tokens", "at least 950 tokens", "token count unavailable"; nothing if there is nothing to say yet. */
export function tokenWords({ inputTokens, outputTokens, partial }: Usage): string {
  if (inputTokens === null || outputTokens === null) return partial ? USAGE_UNKNOWN : "";
  return `${partial ? "at least " : ""}${formatTokens(inputTokens + outputTokens)}`;
}

type Maybe = number | null | undefined;

function reported(
  input: Maybe,
  output: Maybe,
  cost: Maybe,
  partial: boolean | null | undefined,
  calls: Maybe,
): Usage {
  const isUnknown = !input && !output && calls && partial !== false;
  if (isUnknown) return { ...NOTHING_USED, partial: partial === true || typeof input === "number" };
  return {
    inputTokens: input ?? null,
    outputTokens: output ?? null,
    cost: cost ?? null,
    partial: partial ?? false,
  };
}

function add(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other;
}
