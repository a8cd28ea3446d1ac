/** What the pages of runs read from the server. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data } from "@/lib/api";
import type { RunView } from "@/protocol/api";
import { type RunFilter, spanOf } from "./run-filter";

const PAGE = 50;
const FOLLOW_MS = 2_000;

/** Whether a run has not ended. */
export const isGoingOn = (run: RunView): boolean => run.status === "queued" || run.status === "running";

/** Runs that fit a filter, newest first, looked at again while one of them goes on. */
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
    refetchInterval: ({ state: { data: list } }) =>
      list?.pages.some((page) => page.items.some(isGoingOn)) ? FOLLOW_MS * list.pages.length : false,
  });

export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: ["runs", "one", runId],
    queryFn: () => data(api.GET("/api/runs/{run_id}", { params: { path: { run_id: runId } } })),
    refetchInterval: ({ state }) => (state.data && isGoingOn(state.data) ? FOLLOW_MS : false),
  });

/** Whether a run that asked still waits for the answer: what its session says, which only its owner may read. */
export const stillAsksQuery = (run: RunView, own: boolean) =>
  queryOptions({
    queryKey: ["runs", "asks", run.id],
    enabled: own && run.status === "interrupted",
    queryFn: async () => {
      const params = { path: { session_id: run.session_id } };
      const status = await data(api.GET("/api/agent-sessions/{session_id}/status", { params }));
      return status.interrupts.some((asked) => asked.run_id === run.id && asked.state === "open");
    },
  });

/** The tool calls of a run as the server recorded them, beside the log. */
export const runToolsQuery = (runId: string, goingOn: boolean) =>
  queryOptions({
    queryKey: ["runs", "tools", runId],
    queryFn: async () => {
      const params = { path: { run_id: runId } };
      return (await data(api.GET("/api/runs/{run_id}/tools", { params }))).items;
    },
    refetchInterval: goingOn ? FOLLOW_MS : false,
  });
