/** Runs as a table, and as cards where there is no room for one. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { RunStatus } from "@/components/run-status";
import { Tooltip } from "@/components/ui/tooltip";
import { formatAgo, formatCount, formatMoment, formatTokens } from "@/lib/format";
import { PARTIAL_WORDS, tokenWords, type Usage, usageOfRun } from "@/lib/usage-words";
import type { RunView } from "@/protocol/api";
import { costWords, durationWords, NOTHING, titleOf } from "./run-words";

interface RunListProps {
  runs: RunView[];
  now: number;
  /** Whether there may be runs of several people. */
  people: boolean;
}

const HEAD = "px-3 py-2 text-left text-xs font-medium whitespace-nowrap text-soft";
const CELL = "px-3 py-2.5 align-middle whitespace-nowrap";
const NUMBER = "px-3 py-2.5 text-right align-middle whitespace-nowrap tabular-nums";

export function RunTable({ runs, now, people }: RunListProps): ReactNode {
  return (
    <div className="hidden overflow-x-auto rounded-2xl border border-line bg-raised xl:block">
      <table className="w-full text-sm">
        <thead className="border-b border-line">
          <tr>
            <th className={HEAD}>Run</th>
            <th className={HEAD}>Status</th>
            <th className={HEAD}>Agent</th>
            {people && <th className={HEAD}>Person</th>}
            <th className={HEAD}>Started</th>
            <th className={`${HEAD} text-right!`}>Duration</th>
            <th className={`${HEAD} text-right!`}>Steps</th>
            <th className={`${HEAD} text-right!`}>Tokens</th>
            <th className={`${HEAD} text-right!`}>Cost</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id} className="relative border-b border-line last:border-0 hover:bg-hover/60">
              <td className="w-full max-w-0 min-w-44 px-3 py-2.5">
                <Link
                  to="/runs/$runId"
                  params={{ runId: run.id }}
                  className="block truncate font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:rounded-lg focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
                >
                  {titleOf(run)}
                </Link>
              </td>
              <td className={CELL}>
                <RunStatus run={run} />
              </td>
              <td className={CELL}>
                <span className="block max-w-40 truncate">{run.agent_name}</span>
                <span className="block max-w-40 truncate text-xs text-soft">{run.model}</span>
              </td>
              {people && <td className={CELL}>{run.user_name || run.user}</td>}
              <td className={CELL}>
                <Started run={run} now={now} />
              </td>
              <td className={NUMBER}>{durationWords(run, now)}</td>
              <td className={NUMBER}>{run.steps ?? NOTHING}</td>
              <td className={NUMBER}>
                <Tokens usage={usageOfRun(run)} />
              </td>
              <td className={NUMBER}>{costWords(usageOfRun(run).cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function RunCards({ runs, now, people }: RunListProps): ReactNode {
  return (
    <ul className="flex flex-col gap-2 xl:hidden">
      {runs.map((run) => (
        <li key={run.id}>
          <Link
            to="/runs/$runId"
            params={{ runId: run.id }}
            className="flex flex-col gap-2 rounded-2xl border border-line bg-raised p-4 text-sm hover:bg-hover/60"
          >
            <span className="flex items-start justify-between gap-3">
              <span className="line-clamp-2 min-w-0 font-medium wrap-anywhere">{titleOf(run)}</span>
              <span className="shrink-0 text-xs leading-5 text-soft">
                {formatAgo(run.started_at ?? run.created_at, now)}
              </span>
            </span>
            <span className="flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-soft">
              <RunStatus run={run} />
              <span className="truncate">{run.agent_name}</span>
              <span aria-hidden>·</span>
              <span className="truncate">{run.model}</span>
              {people && (
                <>
                  <span aria-hidden>·</span>
                  <span>{run.user_name || run.user}</span>
                </>
              )}
            </span>
            <span className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft tabular-nums">
              <span>{durationWords(run, now)}</span>
              {run.steps !== null && <span>{run.steps === 1 ? "1 step" : `${run.steps} steps`}</span>}
              <Used usage={usageOfRun(run)} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Started({ run, now }: { run: RunView; now: number }): ReactNode {
  const at = run.started_at ?? run.created_at;
  return (
    <Tooltip label={formatMoment(at)}>
      <time dateTime={new Date(at).toISOString()} className="relative text-soft">
        {formatAgo(at, now)}
      </time>
    </Tooltip>
  );
}

function Tokens({ usage }: { usage: Usage }): ReactNode {
  const { inputTokens, outputTokens, partial } = usage;
  if (inputTokens === null || outputTokens === null) {
    if (!partial) return NOTHING;
    return (
      <Tooltip label={PARTIAL_WORDS}>
        <span className="relative text-soft">unavailable</span>
      </Tooltip>
    );
  }
  const words = `${formatTokens(inputTokens)} in, ${formatTokens(outputTokens)} out`;
  return (
    <Tooltip label={partial ? `${words}. ${PARTIAL_WORDS}` : words}>
      <span className="relative">
        {partial && "at least "}
        {formatCount(inputTokens + outputTokens)}
      </span>
    </Tooltip>
  );
}

function Used({ usage }: { usage: Usage }): ReactNode {
  const tokens = tokenWords(usage);
  return (
    <>
      {tokens && <span>{tokens}</span>}
      {usage.cost !== null && <span>{costWords(usage.cost)}</span>}
    </>
  );
}
