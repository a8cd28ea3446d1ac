/** What there is to know of a row: a tool's arguments and result, a model call's tokens and cost, what was said. */

import type { ReactNode } from "react";
import { CopyButton } from "@/components/ui/copy-button";
import { formatDuration, prettyJson } from "@/lib/format";
import { usageOfMetrics } from "@/lib/usage-words";
import type { ToolExecutionView } from "@/protocol/api";
import { costWords, countWords } from "../run-words";
import type { Row } from "./waterfall-rows";

const EFFECTS: Record<ToolExecutionView["effect"], string> = {
  read: "read only",
  idempotent: "safe to repeat",
  once: "runs at most once",
};

export function WaterfallDetails({
  row,
  call,
}: {
  row: Row;
  call?: ToolExecutionView | undefined;
}): ReactNode {
  const facts = factsOf(row, call);
  return (
    <div className="flex flex-col gap-3 text-sm">
      <dl className="flex flex-wrap gap-x-6 gap-y-2">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt className="text-xs text-soft">{name}</dt>
            <dd className="tabular-nums wrap-anywhere">{value}</dd>
          </div>
        ))}
      </dl>
      {row.note && <p className="wrap-anywhere">{row.note}</p>}
      {row.text && <Text name="Text" text={row.text} />}
      {row.args !== null && <Text name="Arguments" text={prettyJson(row.args)} mono />}
      {row.result !== null && <Text name="Result" text={prettyJson(row.result)} mono />}
    </div>
  );
}

function factsOf(row: Row, call: ToolExecutionView | undefined): [string, string][] {
  const facts: [string, string][] = [["Start", formatDuration(row.startMs)]];
  if (row.endMs !== null && row.endMs > row.startMs)
    facts.push(["Duration", formatDuration(row.endMs - row.startMs)]);
  if (row.firstMs !== null) facts.push(["First token after", formatDuration(row.firstMs - row.startMs)]);
  if (row.kind === "tool" && row.ranMs !== null) {
    facts.push(["Arguments written in", formatDuration(row.ranMs - row.startMs)]);
    if (row.endMs !== null) facts.push(["Result after", formatDuration(row.endMs - row.ranMs)]);
  }
  if (row.error) facts.push([row.kind === "retry" ? "Reason" : "Error", row.error]);
  if (call) facts.push(["Effect", EFFECTS[call.effect]], ["Recorded as", call.state]);
  const metrics = row.metrics;
  if (metrics && (row.kind === "model" || row.kind === "step")) {
    if (metrics.model) facts.push(["Model", metrics.model]);
    const used = usageOfMetrics(metrics);
    if (used.inputTokens === null) facts.push(["Tokens", "unavailable"]);
    else {
      facts.push(["Input tokens", countWords(metrics.input_tokens, used)]);
      facts.push(["Cached input tokens", countWords(metrics.cached_input_tokens, used)]);
      facts.push(["Output tokens", countWords(metrics.output_tokens, used)]);
      facts.push(["Reasoning tokens", countWords(metrics.reasoning_tokens, used)]);
      facts.push(["Cost", costWords(used.cost)]);
    }
  }
  return facts;
}

function Text({ name, text, mono = false }: { name: string; text: string; mono?: boolean }): ReactNode {
  return (
    <div>
      <div className="flex items-center gap-1 text-xs text-soft">
        {name}
        <CopyButton text={text} label={`Copy: ${name.toLowerCase()}`} />
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        className={`max-h-64 overflow-auto rounded-lg bg-panel p-3 text-[0.8125rem] whitespace-pre-wrap wrap-anywhere ${mono ? "font-mono" : "font-sans"}`}
      >
        {text || "(empty)"}
      </pre>
    </div>
  );
}
