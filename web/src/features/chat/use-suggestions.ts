/** The memories that were suggested in a chat and wait for a decision. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { suggestionsQuery } from "@/api/memory-queries";
import type { SuggestionView } from "@/protocol/api";
import type { Turn } from "@/state/thread";

/** After a run its memories are suggested in the background, which no event says before the next run. */
const EXPECTED_MS = 60_000;
const FOLLOW_MS = 5_000;
const NONE: SuggestionView[] = [];

/** Reads them when the chat is opened or returned to, when a run begins or ends, and for a minute after. */
export function useSuggestions(
  sessionId: string,
  turns: readonly Turn[],
  live: boolean,
): readonly SuggestionView[] {
  const last = turns.at(-1);
  const endedAt = last?.endedAt ?? 0;
  const { data, refetch } = useInfiniteQuery({
    ...suggestionsQuery(sessionId),
    enabled: live,
    refetchInterval: () => Date.now() - endedAt < EXPECTED_MS && FOLLOW_MS,
  });
  const standing = `${last?.runId} ${last?.status}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a run that begins announces what was suggested before
  useEffect(() => {
    if (live && turns.length > 0) void refetch();
  }, [standing, live, refetch]);
  return useMemo(() => data?.pages.flatMap((page) => page.items) ?? NONE, [data]);
}
