/** Decides on suggestions: what was decided leaves the lists at once, and what went wrong is said. */
import { type InfiniteData, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { approve, approveAll, refreshMemories, reject } from "@/api/memory-queries";
import { useToast } from "@/components/ui/toast";
import { formatCounted } from "@/lib/format";
import type { Suggestions, SuggestionView } from "@/protocol/api";

export interface Deciding {
  /** The suggestions, and the chats whose all are approved at once, that are being decided on. */
  busy: ReadonlySet<string>;
  approve: (suggestion: SuggestionView) => Promise<void>;
  reject: (suggestion: SuggestionView) => Promise<void>;
  approveAll: (sessionId: string) => Promise<void>;
}

export function useDeciding(): Deciding {
  const queryClient = useQueryClient();
  const toast = useToast();
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set());
  const decide = useCallback(
    async (key: string, is: (suggestion: SuggestionView) => boolean, act: () => Promise<string>) => {
      setBusy((before) => new Set(before).add(key));
      try {
        const said = await act();
        queryClient.setQueriesData<InfiniteData<Suggestions>>(
          { queryKey: ["memory-suggestions"] },
          (known) => (known ? { ...known, pages: known.pages.map((page) => without(page, is)) } : known),
        );
        toast.done(said);
      } catch (thrown) {
        toast.failed(thrown);
      } finally {
        setBusy((before) => new Set([...before].filter((other) => other !== key)));
      }
      await refreshMemories(queryClient);
    },
    [queryClient, toast],
  );
  return {
    busy,
    approve: (suggestion) =>
      decide(
        suggestion.id,
        ({ id }) => id === suggestion.id,
        async () => {
          await approve(suggestion);
          return "Remembered.";
        },
      ),
    reject: (suggestion) =>
      decide(
        suggestion.id,
        ({ id }) => id === suggestion.id,
        async () => {
          await reject(suggestion);
          return "Rejected. It is not suggested again.";
        },
      ),
    approveAll: (sessionId) =>
      decide(
        sessionId,
        ({ session_id }) => session_id === sessionId,
        async () => `${formatCounted(await approveAll(sessionId), "memory", "memories")} approved.`,
      ),
  };
}

function without(page: Suggestions, is: (suggestion: SuggestionView) => boolean): Suggestions {
  return { ...page, items: page.items.filter((suggestion) => !is(suggestion)) };
}
