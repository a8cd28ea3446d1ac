/** Reads the memories that were suggested in a chat and wait for a decision. It shows nothing itself. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { suggestionsQuery } from "@/api/memory-queries";
import type { SuggestionView } from "@/protocol/api";
import type { Turn } from "@/state/thread";

/** After a run its memories are suggested in the background, which no event says before the next run. */
const EXPECTED_MS = 60_000;
const FOLLOW_MS = 5_000;

interface SuggestionsReaderProps {
  sessionId: string;
  /** The newest turn. */
  turn: Turn | undefined;
  onRead: (suggestions: readonly SuggestionView[]) => void;
}

/** Reads when the chat is opened or returned to, when a run begins or ends, and for a minute after. */
export function SuggestionsReader({ sessionId, turn, onRead }: SuggestionsReaderProps): null {
  const endedAt = turn?.endedAt ?? 0;
  const { data, refetch } = useInfiniteQuery({
    ...suggestionsQuery(sessionId),
    refetchInterval: () => Date.now() - endedAt < EXPECTED_MS && FOLLOW_MS,
  });
  const standing = `${turn?.runId} ${turn?.status}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a run that begins announces what was suggested before
  useEffect(() => void refetch(), [standing, refetch]);
  useEffect(() => onRead(data?.pages.flatMap((page) => page.items) ?? []), [data, onRead]);
  return null;
}
