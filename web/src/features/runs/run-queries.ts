/** What the pages of runs read from the server. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data } from "@/api/client";
import type { RunView, ToolExecutions } from "@/protocol/api";
import { type RunFilter, spanOf } from "./run-filter";

const PAGE = 50;
const FOLLOW_MS = 2_000;
const ASKED_MS = 15_000;

/** Whether a run has not ended. */
export const isGoingOn = (run: RunView): boolean => run.status === "queued" || run.status === "running";

/** The links to an ended run's trace. */
export const traceQuery = (runId: string) =>
  queryOptions({
    queryKey: ["runs", runId, "trace"],
    queryFn: () => data(api.GET("/api/runs/{run_id}/trace", { params: { path: { run_id: runId } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** How often to poll runs: while one is in progress, and less often while one waits for approval. */
function followMs(runs: readonly RunView[]): number | false {
  if (runs.some(isGoingOn)) return FOLLOW_MS;
  return runs.some((run) => run.question === "open") && ASKED_MS;
}

/** Runs that fit a filter, newest first, looked at again while something may become of one of them. */
export const runsQuery = (filter: RunFilter) =>
  infiniteQueryOptions({
    queryKey: ["runs", "list", filter],
    initialPageParam: "",
    queryFn: ({ pageParam }) => {
      const { since, until } = spanOf(filter, Date.now());
      const query = {
        limit: PAGE,
        ...(filter.agent ? { agent_id: filter.agent } : {}),
        ...(filter.status ? { status: filter.status } : {}),
        ...(filter.user ? { user: filter.user } : {}),
        ...(since === null ? {} : { since }),
        ...(until === null ? {} : { until }),
        ...(pageParam ? { after: pageParam } : {}),
      };
      return data(api.GET("/api/runs", { params: { query } }));
    },
    getNextPageParam: (page) => page.next,
    // Every page is read again, so a long list is looked at less often.
    refetchInterval: ({ state: { data: list } }) => {
      const pages = list?.pages ?? [];
      const ms = followMs(pages.flatMap((page) => page.items));
      return ms && ms * pages.length;
    },
  });

export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: ["runs", "one", runId],
    queryFn: () => data(api.GET("/api/runs/{run_id}", { params: { path: { run_id: runId } } })),
    refetchInterval: ({ state }) => followMs(state.data ? [state.data] : []),
  });

/** The version of its agent that a run has pinned, beside the agent as it is now. */
export const runDefinitionQuery = (runId: string) =>
  queryOptions({
    queryKey: ["runs", "definition", runId],
    queryFn: () => data(api.GET("/api/runs/{run_id}/definition", { params: { path: { run_id: runId } } })),
  });

/** The tool calls of a run as the server recorded them, beside the log. */
export const runToolsQuery = (runId: string, goingOn: boolean) =>
  queryOptions({
    queryKey: ["runs", "tools", runId],
    queryFn: async () => {
      const items: ToolExecutions["items"] = [];
      let after: string | null = null;
      do {
        const params = { path: { run_id: runId }, query: { limit: 200, ...(after ? { after } : {}) } };
        const page: ToolExecutions = await data(api.GET("/api/runs/{run_id}/tools", { params }));
        items.push(...page.items);
        after = page.next;
      } while (after);
      return items;
    },
    refetchInterval: goingOn ? FOLLOW_MS : false,
  });
