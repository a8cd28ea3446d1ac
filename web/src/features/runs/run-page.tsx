/** One run: what it did and when, all its events, what it used, and how it looked as it went. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { ArrowLeft, SearchX } from "lucide-react";
import type { ReactNode } from "react";
import { problemOf } from "@/api/problem";
import { meQuery } from "@/api/queries";
import { buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useNow } from "@/lib/use-now";
import { RunActions } from "./run-actions";
import { RunFacts } from "./run-facts";
import { RunFailure } from "./run-failure";
import { isGoingOn, runQuery } from "./run-queries";
import { RunTabs } from "./run-tabs";
import { titleOf } from "./run-words";
import { useRunLog } from "./use-run-log";

const back = (
  <Link
    to="/runs"
    className="mb-3 -ml-1 inline-flex items-center gap-1.5 rounded-lg px-1 text-sm text-soft hover:text-ink"
  >
    <ArrowLeft className="size-4" aria-hidden />
    Runs
  </Link>
);

export function RunPage(): ReactNode {
  const { runId } = useParams({ from: "/inside/runs/$runId" });
  const run = useQuery(runQuery(runId));
  if (run.data) return <Shown key={runId} runId={runId} />;
  if (run.isPending)
    return (
      <Page title="Run" above={back} wide>
        <SkeletonRows rows={6} />
      </Page>
    );
  if (problemOf(run.error).code === "run_not_found") return <NotThere />;
  return (
    <Page title="Run" above={back} wide>
      <ProblemNote problem={run.error} onRetry={() => void run.refetch()} />
    </Page>
  );
}

function Shown({ runId }: { runId: string }): ReactNode {
  const { data: run, error, refetch } = useQuery(runQuery(runId));
  const me = useQuery(meQuery).data;
  const log = useRunLog(runId);
  const goingOn = run !== undefined && isGoingOn(run);
  const own = run !== undefined && run.user === me?.user;
  const now = useNow(goingOn);
  if (error && problemOf(error).code === "run_not_found") return <NotThere />;
  if (!run) return null;
  return (
    <Page title={titleOf(run)} above={back} wide actions={own && <RunActions run={run} />}>
      {error && (
        <div className="mb-4">
          <ProblemNote problem={error} onRetry={() => void refetch()} />
        </div>
      )}
      <RunFacts run={run} now={now} />
      <RunFailure run={run} events={log.events} />
      <RunTabs run={run} log={log} now={now} />
    </Page>
  );
}

function NotThere(): ReactNode {
  const action = (
    <Link to="/runs" className={buttonClass("primary")}>
      See all runs
    </Link>
  );
  return (
    <Page title="Run" above={back} wide>
      <Empty icon={SearchX} title="Run not found" action={action}>
        It was deleted with its chat, or you do not have access to it.
      </Empty>
    </Page>
  );
}
