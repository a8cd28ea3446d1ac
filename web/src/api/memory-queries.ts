/** What the pages read of memories and of suggestions, and how they decide on suggestions. */
import { infiniteQueryOptions, type QueryClient, queryOptions } from "@tanstack/react-query";
import type { MemoryView, SuggestionView } from "@/protocol/api";
import { api, data } from "./client";

export type MemoryType = MemoryView["memory_type"];
export type MemoryScope = MemoryView["scope"];

export interface MemoryFilter {
  agent?: string;
  type?: MemoryType;
  scope?: MemoryScope;
  q?: string;
}

const PAGE = 50;

/** What is remembered of the caller, newest first; with words to search for, best first. */
export const memoriesQuery = ({ agent, type, scope, q }: MemoryFilter = {}) =>
  infiniteQueryOptions({
    queryKey: ["memories", "list", { agent, type, scope, q }],
    initialPageParam: "",
    queryFn: ({ pageParam }) => {
      const query = {
        limit: PAGE,
        ...(agent ? { agent_id: agent } : {}),
        ...(type ? { type } : {}),
        ...(scope ? { scope } : {}),
        ...(q ? { q } : {}),
        ...(pageParam ? { after: pageParam } : {}),
      };
      return data(api.GET("/api/me/memories", { params: { query } }));
    },
    getNextPageParam: (page) => page.next,
  });

export const memoryQuery = (memoryId: string) =>
  queryOptions({
    queryKey: ["memories", "one", memoryId],
    queryFn: () =>
      data(api.GET("/api/agent-memories/{memory_id}", { params: { path: { memory_id: memoryId } } })),
  });

/** The suggestions that wait for the caller, newest first; of one chat, or of all. */
export const suggestionsQuery = (sessionId = "") =>
  infiniteQueryOptions({
    queryKey: ["memory-suggestions", sessionId],
    initialPageParam: "",
    queryFn: ({ pageParam }) => {
      const query = {
        limit: PAGE,
        ...(sessionId ? { session_id: sessionId } : {}),
        ...(pageParam ? { after: pageParam } : {}),
      };
      return data(api.GET("/api/memory-suggestions", { params: { query } }));
    },
    getNextPageParam: (page) => page.next,
  });

/** Reads again what shows memories and suggestions. */
export async function refreshMemories(queryClient: QueryClient): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ["memory-suggestions"] }),
    queryClient.invalidateQueries({ queryKey: ["memories"] }),
  ]);
}

export async function approve({ id }: SuggestionView): Promise<void> {
  await api.POST("/api/memory-suggestions/{suggestion_id}/approve", {
    params: { path: { suggestion_id: id } },
  });
}

export async function reject({ id }: SuggestionView): Promise<void> {
  await api.POST("/api/memory-suggestions/{suggestion_id}/reject", {
    params: { path: { suggestion_id: id } },
  });
}

/** Approves all that wait of a chat; returns how many. */
export async function approveAll(sessionId: string): Promise<number> {
  const params = { path: { session_id: sessionId } };
  const made = await data(
    api.POST("/api/agent-sessions/{session_id}/memory-suggestions/approve", { params }),
  );
  return made.items.length;
}
