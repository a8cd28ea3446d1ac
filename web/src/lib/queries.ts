/** What the pages read from the server, by name, so that a change anywhere finds every reader. */
import { infiniteQueryOptions, QueryClient, queryOptions } from "@tanstack/react-query";
import { api, data } from "./api";
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

export const meQuery = queryOptions({ queryKey: ["me"], queryFn: () => data(api.GET("/api/me")) });

export const signInMethodsQuery = queryOptions({
  queryKey: ["sign-in-methods"],
  queryFn: () => data(api.GET("/api/sign-in/methods")),
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

export interface SessionFilter {
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

export const providersQuery = queryOptions({
  queryKey: ["providers"],
  queryFn: async () => (await data(api.GET("/api/providers"))).items,
});

/** Every tool an agent can be given: built-in ones, the team's HTTP tools, those of connected workers. */
export const toolsQuery = queryOptions({
  queryKey: ["tools"],
  queryFn: async () => (await data(api.GET("/api/tools"))).items,
});

export const agentToolsQuery = queryOptions({
  queryKey: ["agent-tools"],
  queryFn: async () => (await data(api.GET("/api/agent-tools"))).items,
});
