/** What the pages read from the server, by name, so that a change anywhere finds every reader. */
import { infiniteQueryOptions, QueryClient, queryOptions } from "@tanstack/react-query";
import { tellCostsIn } from "@/lib/format";
import { api, data } from "./client";
import { problemOf } from "./problem";

const FRESH_MS = 10_000;
const TRIES = 2;

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        retry: (count, thrown) =>
          count < TRIES && (problemOf(thrown).code === "offline" || problemOf(thrown).status >= 500),
      },
    },
  });
}

export const WATCH_MS = 5_000;

/** For what others change while it is looked at: read again when it is opened, come back to, and while it is seen. */
export const WATCHED = {
  refetchInterval: WATCH_MS,
  refetchOnMount: "always",
  refetchOnWindowFocus: "always",
} as const;

/** A list that was paged through is not read again and again: only its newest page is watched. */
export function watchNewest(query: { state: { data?: { pages: unknown[] } | undefined } }): number | false {
  return (query.state.data?.pages.length ?? 1) > 1 ? false : WATCH_MS;
}

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: async () => {
    const me = await data(api.GET("/api/me"));
    tellCostsIn(me.currency);
    return me;
  },
});

/** All agents of the team; it is small enough to be read whole. */
export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: async () => {
    const items = [];
    let after: string | undefined;
    do {
      const page = await data(
        api.GET("/api/agents", { params: { query: { limit: 200, ...(after ? { after } : {}) } } }),
      );
      items.push(...page.items);
      after = page.next ?? undefined;
    } while (after);
    return items;
  },
});

export const agentQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["agents", agentId],
    queryFn: () => data(api.GET("/api/agents/{agent_id}", { params: { path: { agent_id: agentId } } })),
  });

interface SessionFilter {
  search?: string;
  agentId?: string;
}

export const sessionsQuery = ({ search, agentId }: SessionFilter = {}) =>
  infiniteQueryOptions({
    queryKey: ["sessions", { search: search ?? "", agentId: agentId ?? "" }],
    initialPageParam: "",
    queryFn: ({ pageParam }) => {
      const query = {
        limit: 50,
        ...(search ? { search } : {}),
        ...(agentId ? { agent_id: agentId } : {}),
        ...(pageParam ? { after: pageParam } : {}),
      };
      return data(api.GET("/api/agent-sessions", { params: { query } }));
    },
    getNextPageParam: (page) => page.next,
  });

/** A session by itself, without its messages. */
export const sessionQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["session", sessionId],
    queryFn: () => {
      const params = { path: { session_id: sessionId }, query: { tail: true, limit: 1 } };
      return data(api.GET("/api/agent-sessions/{session_id}", { params }));
    },
  });

/** All runs of a session, newest first: what it came to in tokens and money. */
export const sessionRunsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["runs", "session", sessionId],
    queryFn: async () => {
      const items = [];
      let after: string | undefined;
      do {
        const query = { session_id: sessionId, limit: 200, ...(after ? { after } : {}) };
        const page = await data(api.GET("/api/runs", { params: { query } }));
        items.push(...page.items);
        after = page.next ?? undefined;
      } while (after);
      return items;
    },
  });

/** The ids of the caller's runs that failed last, by which a list of sessions shows where something went wrong. */
export const failedRunsQuery = queryOptions({
  queryKey: ["runs", "failed"],
  queryFn: async () => {
    const query = { status: "failed", limit: 200 } as const;
    const page = await data(api.GET("/api/runs", { params: { query } }));
    return new Set(page.items.map((run) => run.id));
  },
});

export const providersQuery = queryOptions({
  queryKey: ["providers"],
  queryFn: async () => (await data(api.GET("/api/providers"))).items,
});

/** The tools that come with the server and from connected workers; the team's HTTP tools are not among them. */
export const toolsQuery = queryOptions({
  queryKey: ["tools"],
  queryFn: async () => (await data(api.GET("/api/tools"))).items,
});

export const agentToolsQuery = queryOptions({
  queryKey: ["agent-tools"],
  queryFn: async () => (await data(api.GET("/api/agent-tools"))).items,
});

/** The tools an agent has, also those that only this agent can have; none for a new agent. */
export const assignedToolsQuery = (agentId?: string) =>
  queryOptions({
    queryKey: ["agent-tools", agentId],
    enabled: agentId !== undefined,
    queryFn: async () =>
      (await data(api.GET("/api/agents/{agent_id}/tools", { params: { path: { agent_id: agentId ?? "" } } })))
        .items,
  });
