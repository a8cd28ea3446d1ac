/** Tells the server how far a chat was read, so that the list elsewhere knows what is new. */
import { type InfiniteData, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { api } from "@/api/client";
import type { Sessions } from "@/protocol/api";

const PAUSE_MS = 600;

/** Marks a chat as read up to a position, once the reader has been at its end for a moment. */
export function useReading(sessionId: string, pos: number, atEnd: boolean): void {
  const queryClient = useQueryClient();
  const told = useRef(0);
  useEffect(() => {
    if (!atEnd || pos <= told.current) return undefined;
    const tell = async () => {
      if (document.visibilityState !== "visible") return;
      told.current = pos;
      const params = { path: { session_id: sessionId } };
      try {
        await api.PATCH("/api/agent-sessions/{session_id}", { params, body: { seen_pos: pos } });
        queryClient.setQueriesData<InfiniteData<Sessions>>({ queryKey: ["sessions"] }, (known) =>
          known ? { ...known, pages: known.pages.map((page) => seen(page, sessionId, pos)) } : known,
        );
      } catch {
        told.current = 0; // it is told again with what comes next, or when the page is looked at again
      }
    };
    const timer = setTimeout(() => void tell(), PAUSE_MS);
    document.addEventListener("visibilitychange", tell);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", tell);
    };
  }, [queryClient, sessionId, pos, atEnd]);
}

function seen(page: Sessions, sessionId: string, pos: number): Sessions {
  const items = page.items.map((session) =>
    session.id === sessionId ? { ...session, seen_pos: Math.max(session.seen_pos, pos) } : session,
  );
  return { ...page, items };
}
