/** The four ways to look at a run. Which one is shown is in the address. */
import { useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Tabs } from "@/components/ui/tabs";
import { formatCount } from "@/lib/format";
import type { RunView, ToolExecutionView } from "@/protocol/api";
import { EventsTab } from "./events-tab";
import { MetricsTab } from "./metrics-tab";
import { isGoingOn, runToolsQuery } from "./run-queries";
import type { WatchedLog } from "./use-run-log";
import { WaterfallTab } from "./waterfall/waterfall-tab";

// It brings the Markdown renderer with it.
const ReplayTab = lazy(async () => ({ default: (await import("./replay/replay-tab")).ReplayTab }));

const TABS = ["waterfall", "events", "metrics", "replay"] as const;

const NO_CALLS: ToolExecutionView[] = [];

interface RunTabsProps {
  run: RunView;
  log: WatchedLog;
  now: number;
}

export function RunTabs({ run, log, now }: RunTabsProps): ReactNode {
  const { hash } = useLocation();
  const navigate = useNavigate();
  const goingOn = isGoingOn(run);
  const tools = useQuery(runToolsQuery(run.id, goingOn));
  const calls = tools.data ?? NO_CALLS;
  const shown = TABS.find((tab) => tab === hash) ?? "waterfall";
  const show = (tab: string) =>
    void navigate({ to: ".", hash: tab, replace: true, hashScrollIntoView: false, resetScroll: false });
  return (
    <>
      <LogNote run={run} log={log} />
      {tools.isError && (
        <div className="mb-4">
          <ProblemNote problem={tools.error} onRetry={() => void tools.refetch()} />
        </div>
      )}
      <Tabs
        label="Run views"
        value={shown}
        onChange={show}
        tabs={[
          {
            id: "waterfall",
            title: "Waterfall",
            content: <WaterfallTab log={log} calls={calls} now={goingOn ? now : undefined} />,
          },
          {
            id: "events",
            title: "Events",
            content: <EventsTab runId={run.id} log={log} goingOn={goingOn} />,
          },
          { id: "metrics", title: "Metrics", content: <MetricsTab run={run} log={log} now={now} /> },
          {
            id: "replay",
            title: "Replay",
            content: (
              <Suspense fallback={<SkeletonRows rows={4} />}>
                <ReplayTab log={log} calls={calls} />
              </Suspense>
            ),
          },
        ]}
      />
    </>
  );
}

/** How far the log has been read, and what went wrong with it. */
function LogNote({ run, log }: { run: RunView; log: WatchedLog }): ReactNode {
  if (log.problem)
    return (
      <div className="mb-4">
        <ProblemNote problem={log.problem} onRetry={log.retry} />
      </div>
    );
  if (log.phase !== "loading") return null;
  const all = Math.max(run.last_seq, log.events.length);
  return (
    <div className="mb-4" role="status">
      <p className="mb-1 text-[0.8125rem] text-soft">
        Loading events: {formatCount(log.events.length)} of {formatCount(all)} events
      </p>
      <progress
        aria-label="Loading events"
        value={log.events.length}
        max={Math.max(1, all)}
        className="h-1.5 w-full max-w-xs appearance-none overflow-hidden rounded-full bg-hover [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-hover [&::-webkit-progress-value]:bg-accent"
      />
    </div>
  );
}
