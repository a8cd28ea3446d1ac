/** The newest runs one had with an agent. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api, data } from "@/api/client";
import { RunStatus } from "@/components/run-status";
import { Card } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { formatAgo, formatMoment } from "@/lib/format";

const SHOWN = 5;

const agentRunsQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["runs", "of-agent", agentId],
    queryFn: async () => {
      const query = { agent_id: agentId, limit: SHOWN };
      return (await data(api.GET("/api/runs", { params: { query } }))).items;
    },
  });

export function AgentRuns({ agentId }: { agentId: string }): ReactNode {
  const runs = useQuery(agentRunsQuery(agentId));
  return (
    <Card title="Your recent runs">
      {runs.isPending && <SkeletonRows rows={3} className="h-10" />}
      {runs.isError && <ProblemNote problem={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.data?.length === 0 && (
        <p className="text-sm text-soft">You have not chatted with this agent yet.</p>
      )}
      {runs.data && runs.data.length > 0 && (
        <ul className="-mx-2 flex flex-col">
          {runs.data.map((run) => (
            <li key={run.id}>
              <Link
                to="/runs/$runId"
                params={{ runId: run.id }}
                className="flex items-center gap-3 rounded-lg px-2 py-1.5 text-sm hover:bg-hover"
              >
                <span className="min-w-0 flex-1 truncate">{run.title || "Continued after approval"}</span>
                <span className="shrink-0 text-xs text-soft" title={formatMoment(run.created_at)}>
                  {formatAgo(run.created_at)}
                </span>
                <RunStatus run={run} />
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
