/** How far the run is, and what the chat came to so far. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { memo, type ReactNode, useMemo } from "react";
import { sessionRunsQuery } from "@/api/queries";
import { Tooltip } from "@/components/ui/tooltip";
import { formatCost, formatCount, formatDuration } from "@/lib/format";
import { PARTIAL_WORDS, tokenWords } from "@/lib/usage-words";
import { useNow } from "@/lib/use-now";
import type { Turn } from "@/state/thread";
import { type Spending, usageOf } from "./usage";

interface RunMeterProps {
  sessionId: string;
  /** The newest turns, whose usage the server may not have reported yet. */
  newest: readonly Spending[];
  running: Pick<Turn, "runId" | "step" | "startedAt"> | null;
}

export const RunMeter = memo(function RunMeter({ sessionId, newest, running }: RunMeterProps): ReactNode {
  const runs = useQuery(sessionRunsQuery(sessionId)).data;
  const usage = useMemo(() => usageOf(runs ?? [], newest), [runs, newest]);
  const { inputTokens, outputTokens } = usage;
  const tokens = inputTokens === 0 && outputTokens === 0 ? "" : tokenWords(usage);
  const lines =
    inputTokens === null || outputTokens === null
      ? []
      : [`${formatCount(inputTokens)} tokens in, ${formatCount(outputTokens)} out.`];
  const lastRun = running?.runId ?? runs?.[0]?.id;
  return (
    <div className="flex items-center gap-3 text-xs whitespace-nowrap text-soft tabular-nums">
      {running && (
        <span className="flex items-center gap-1.5 text-accent-text">
          <span className="size-2 animate-shimmer rounded-full bg-accent" aria-hidden />
          {running.step > 0 ? `step ${running.step}` : "running"}
          {running.startedAt !== null && <Elapsed since={running.startedAt} />}
        </span>
      )}
      {lastRun && tokens && (
        <Tooltip label={[...lines, ...(usage.partial ? [PARTIAL_WORDS] : []), "View run"].join(" ")}>
          <Link
            to="/runs/$runId"
            params={{ runId: lastRun }}
            className="hidden rounded-md underline-offset-2 hover:text-ink hover:underline sm:inline"
          >
            {tokens}
            {usage.cost !== null && usage.cost > 0 && ` · ${formatCost(usage.cost)}`}
          </Link>
        </Tooltip>
      )}
    </div>
  );
});

function Elapsed({ since }: { since: number }): ReactNode {
  const seconds = Math.max(0, Math.floor((useNow(true) - since) / 1_000));
  return <span>· {seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000)}</span>;
}
