/** Reports to the server how far a chat was read, so that lists of chats can mark what is new. */
import { type InfiniteData, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Sessions } from "@/protocol/api";
import { api } from "./client";

const PAUSE_MS = 600;

/** Marks a chat as read up to a position, once the reader has been at its end for a moment. */
export function useReading(sessionId: string, pos: number, atEnd: boolean): void {
  const queryClient = useQueryClient();
  const reported = useRef(0);
  useEffect(() => {
    if (!atEnd || pos <= reported.current) return undefined;
    const report = async () => {
      if (document.visibilityState !== "visible") return;
      reported.current = pos;
      const params = { path: { session_id: sessionId } };
      try {
        await api.PATCH("/api/agent-sessions/{session_id}", { params, body: { seen_pos: pos } });
        queryClient.setQueriesData<InfiniteData<Sessions>>({ queryKey: ["sessions"] }, (known) =>
          known ? { ...known, pages: known.pages.map((page) => seen(page, sessionId, pos)) } : known,
        );
      } catch {
        reported.current = 0; // retry with the next event, or when the page is visible again
      }
    };
    const timer = setTimeout(() => void report(), PAUSE_MS);
    document.addEventListener("visibilitychange", report);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", report);
    };
  }, [queryClient, sessionId, pos, atEnd]);
}

function seen(page: Sessions, sessionId: string, pos: number): Sessions {
  const items = page.items.map((session) =>
    session.id === sessionId ? { ...session, seen_pos: Math.max(session.seen_pos, pos) } : session,
  );
  return { ...page, items };
}
