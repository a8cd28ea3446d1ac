/** What a person does to a turn: answers its questions, has it tried again, goes another way from it. Refusals are thrown. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { sessionQuery } from "@/api/queries";
import { useOutbox } from "@/realtime/outbox-context";
import { useSocket } from "@/realtime/socket-context";
import type { Turn } from "@/state/thread";
import { withCopiedFiles } from "./copied-files";
import { forkOnce } from "./fork-once";
import type { TurnRowActions } from "./turn-row";

const LONGEST_TITLE = 190;

export function useTurnActions(sessionId: string, turns: readonly Turn[]): TurnRowActions {
  const socket = useSocket();
  const outbox = useOutbox();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const latest = useRef(turns);
  latest.current = turns;
  const left = useLeft();
  return useMemo(
    () => ({
      answer: async (answers) => {
        await socket.ask({ type: "approve", session_id: sessionId, answers }, left());
      },
      retry: (turn) => {
        const upTo = latest.current.findIndex(({ runId }) => runId === turn.runId);
        const asked =
          latest.current.slice(0, upTo + 1).findLast((each) => each.asked.length > 0)?.asked ?? [];
        for (const { content } of asked) outbox.put(sessionId, content);
      },
      edit: async (asked, content) => {
        const copied = await withCopiedFiles(content);
        const { title } = queryClient.getQueryData(sessionQuery(sessionId).queryKey) ?? {};
        const begins = latest.current[0]?.asked.includes(asked); // and names the copy with its new words
        const fork = await forkOnce(sessionId, asked.id, begins || !title ? undefined : copyTitle(title));
        outbox.put(fork.id, copied);
        void queryClient.invalidateQueries({ queryKey: ["sessions"] });
        await navigate({ to: "/chat/$sessionId", params: { sessionId: fork.id } });
      },
    }),
    [socket, outbox, navigate, queryClient, sessionId, left],
  );
}

/** Returns a function that says whether the page was left: an answer not sent by then is asked for again there. */
function useLeft(): () => AbortSignal {
  const leaving = useRef(new AbortController());
  useEffect(() => {
    leaving.current = new AbortController();
    return () => leaving.current.abort();
  }, []);
  return useCallback(() => leaving.current.signal, []);
}

/** The title of a chat's copy; that of a copy's copy is the copy's. */
export function copyTitle(title: string): string {
  return /\(copy\)$/.test(title) ? title : `${[...title].slice(0, LONGEST_TITLE).join("")} (copy)`;
}
