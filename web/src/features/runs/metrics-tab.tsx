/** What the run used: tokens, time and money, in all and by step. */
import { type ReactNode, useMemo } from "react";
import { SkeletonRows } from "@/components/ui/skeleton";
import { formatCount, formatDuration } from "@/lib/format";
import { PARTIAL_WORDS, usageOfMetrics } from "@/lib/usage-words";
import type { RunView } from "@/protocol/api";
import type { Metrics } from "@/protocol/events";
import type { LogState } from "./run-log";
import { metricsOf, type Share, sharesOf } from "./run-metrics";
import { costWords, countWords, NOTHING, runMs } from "./run-words";

const SHARES: Record<Share["name"], { word: string; fill: string }> = {
  model: { word: "Model", fill: "bg-accent" },
  tools: { word: "Tools", fill: "bg-amber-500" },
  other: { word: "Other", fill: "bg-strong-line" },
};

interface MetricsTabProps {
  run: RunView;
  log: LogState;
  now: number;
}

export function MetricsTab({ run, log, now }: MetricsTabProps): ReactNode {
  const { total, steps } = useMemo(() => metricsOf(log.events), [log.events]);
  if (!total)
    return log.phase === "loading" ? (
      <SkeletonRows rows={3} className="h-20" />
    ) : (
      <p className="py-6 text-sm text-soft">No metrics yet: no step has finished.</p>
    );
  const wholeMs = runMs(run, now) ?? total.run_ms ?? 0;
  return (
    <div className="flex flex-col gap-6">
      <Totals total={total} wholeMs={wholeMs} />
      {usageOfMetrics(total).partial && (
        <p className="-mt-3 text-[0.8125rem] text-soft">
          {PARTIAL_WORDS} {usageOfMetrics(total).inputTokens !== null && "Token counts and cost exclude it."}
        </p>
      )}
      <TimeBar shares={sharesOf(total, wholeMs)} />
      {steps.length > 0 && <Steps steps={steps} />}
    </div>
  );
}

function Totals({ total, wholeMs }: { total: Metrics; wholeMs: number }): ReactNode {
  const first = total.first_token_ms;
  const used = usageOfMetrics(total);
  const isTold = used.inputTokens !== null;
  const tiles: [string, string, string][] = [
    [
      "Input tokens",
      countWords(total.input_tokens, used),
      isTold ? `${countWords(total.cached_input_tokens, used)} from the cache` : "unavailable",
    ],
    [
      "Output tokens",
      countWords(total.output_tokens, used),
      isTold ? `${countWords(total.reasoning_tokens, used)} for reasoning` : "unavailable",
    ],
    [
      "Cost",
      costWords(used.cost),
      isTold
        ? used.cost === null
          ? "no price set (AGIO_PRICES)"
          : "from the server's price list"
        : "unavailable",
    ],
    ["Duration", formatDuration(wholeMs), total.steps === 1 ? "1 step" : `${total.steps ?? 0} steps`],
    ["First token", first === undefined ? NOTHING : formatDuration(first), "after the first call"],
    ["Model calls", formatCount(total.model_calls), "including retries"],
    ["Model time", formatDuration(total.model_ms), "all calls"],
    ["Tool time", formatDuration(total.tool_ms), "all steps"],
  ];
  return (
    <dl className="grid grid-cols-2 gap-3 md:grid-cols-4">
      {tiles.map(([name, value, hint]) => (
        <div key={name} className="rounded-2xl border border-line bg-raised px-4 py-3">
          <dt className="text-xs text-soft">{name}</dt>
          <dd className="mt-1 text-lg font-semibold tabular-nums">
            {value}
            <span className="block text-xs font-normal text-soft">{hint}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function TimeBar({ shares }: { shares: Share[] }): ReactNode {
  const sum = shares.reduce((all, share) => all + share.ms, 0);
  if (sum === 0) return null;
  return (
    <section>
      <h2 className="mb-2 text-sm font-semibold">Time breakdown</h2>
      <div aria-hidden className="flex h-4 gap-0.5 overflow-hidden rounded-lg">
        {shares.map((share) => (
          <span
            key={share.name}
            className={`min-w-1 ${SHARES[share.name].fill}`}
            style={{ width: `${(share.ms / sum) * 100}%` }}
          />
        ))}
      </div>
      <ul className="mt-2 flex flex-wrap gap-x-6 gap-y-1 text-[0.8125rem]">
        {shares.map((share) => (
          <li key={share.name} className="flex items-center gap-1.5">
            <span aria-hidden className={`size-2.5 rounded-sm ${SHARES[share.name].fill}`} />
            {SHARES[share.name].word}
            <span className="text-soft tabular-nums">
              {formatDuration(share.ms)}, {Math.round((share.ms / sum) * 100)}%
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const COLUMNS: [string, (step: Metrics) => string][] = [
  ["Input", (step) => countWords(step.input_tokens, usageOfMetrics(step))],
  ["Cached", (step) => countWords(step.cached_input_tokens, usageOfMetrics(step))],
  ["Output", (step) => countWords(step.output_tokens, usageOfMetrics(step))],
  ["Reasoning", (step) => countWords(step.reasoning_tokens, usageOfMetrics(step))],
  [
    "First token",
    (step) => (step.first_token_ms === undefined ? NOTHING : formatDuration(step.first_token_ms)),
  ],
  ["Model time", (step) => formatDuration(step.model_ms)],
  ["Tool time", (step) => formatDuration(step.tool_ms)],
  ["Calls", (step) => formatCount(step.model_calls)],
  ["Cost", (step) => costWords(usageOfMetrics(step).cost)],
];

function Steps({ steps }: { steps: Metrics[] }): ReactNode {
  return (
    <div>
      <h2 id="steps-title" className="mb-2 text-sm font-semibold">
        By step
      </h2>
      <section
        aria-labelledby="steps-title"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        className="hidden overflow-x-auto rounded-2xl border border-line bg-raised sm:block"
      >
        <table className="w-full text-sm whitespace-nowrap">
          <thead className="border-b border-line text-xs text-soft">
            <tr>
              <th className="px-3 py-2 text-left font-medium">Step</th>
              <th className="px-3 py-2 text-left font-medium">Model</th>
              {COLUMNS.map(([name]) => (
                <th key={name} className="px-3 py-2 text-right font-medium">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map((step, at) => (
              <tr key={step.step ?? at} className="border-b border-line last:border-0">
                <th scope="row" className="px-3 py-2 text-left font-medium">
                  {step.step ?? at + 1}
                </th>
                <td className="px-3 py-2">{step.model ?? NOTHING}</td>
                {COLUMNS.map(([name, words]) => (
                  <td key={name} className="px-3 py-2 text-right tabular-nums">
                    {words(step)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <StepCards steps={steps} />
    </div>
  );
}

/** The same, where there is no room for a table. */
function StepCards({ steps }: { steps: Metrics[] }): ReactNode {
  return (
    <ul aria-labelledby="steps-title" className="flex flex-col gap-2 sm:hidden">
      {steps.map((step, at) => (
        <li key={step.step ?? at} className="rounded-2xl border border-line bg-raised px-4 py-3 text-sm">
          <p className="font-medium wrap-anywhere">
            Step {step.step ?? at + 1}
            {step.model && <span className="font-normal text-soft"> · {step.model}</span>}
          </p>
          <dl className="mt-2 grid grid-cols-2 gap-x-6 gap-y-1 text-[0.8125rem]">
            {COLUMNS.map(([name, words]) => (
              <div key={name} className="flex justify-between gap-2">
                <dt className="text-soft">{name}</dt>
                <dd className="text-right tabular-nums">{words(step)}</dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}
