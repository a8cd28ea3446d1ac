/** What a person does to a turn: answers its questions, takes another way from it. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { sessionQuery } from "@/api/queries";
import { useToast } from "@/components/ui/toast";
import { newKey } from "@/lib/new-key";
import type { Answer, Content } from "@/protocol/commands";
import { useOutbox } from "@/realtime/outbox-context";
import { useSocket } from "@/realtime/socket-context";
import type { AgentStream } from "@/realtime/use-agent-stream";
import type { Asked, Turn } from "@/state/thread";
import { branching } from "./messages/later";

/** What is sent throws its refusal, to be shown where it was written; the others show it at the edge of the page. */
export interface TurnActions {
  answer: (answers: Answer[]) => Promise<void>;
  /** Replaces a message on a branch of its own. */
  edit: (asked: Asked, content: Content) => Promise<void>;
  /** Sends the edited message in a copy of the chat. */
  editElsewhere: (asked: Asked, content: Content) => Promise<void>;
  /** Answers the message of a turn again, by another model if one is given. */
  regenerate: (turn: Turn, model?: string) => Promise<void>;
  /** Shows the branch that leads to a run. */
  choose: (leaf: string) => Promise<void>;
  /** Shows the branch that a run is on; says whether it was another. */
  show: (runId: string) => Promise<boolean>;
}

/** `onBranch` is called when a new branch begins. */
export function useTurnActions(sessionId: string, stream: AgentStream, onBranch: () => void): TurnActions {
  const socket = useSocket();
  const outbox = useOutbox();
  const toast = useToast();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const latest = useRef(stream.thread.turns);
  latest.current = stream.thread.turns;
  const isRegenerating = useRef(false);
  const left = useLeft();
  const { reload } = stream;
  return useMemo(() => {
    const choose = async (leaf: string) => {
      await (await branching()).chooseLeaf(sessionId, leaf);
      await Promise.all([reload(), queryClient.invalidateQueries({ queryKey: ["session", sessionId] })]);
    };
    return {
      answer: async (answers) => {
        await socket.ask({ type: "approve", session_id: sessionId, answers }, left());
      },
      edit: async (asked, content) => {
        const message = { session_id: sessionId, content, copy_of: asked.id, on_busy: "refuse" } as const;
        await socket.ask({ type: "message", client_message_id: newKey(), ...message }, left());
        onBranch();
      },
      editElsewhere: async (asked, edited) => {
        const known = queryClient.getQueryData(sessionQuery(sessionId).queryKey);
        const begins = latest.current[0]?.asked.includes(asked); // and names the copy with its new words
        const title = begins ? "" : (known?.title ?? "");
        const { fork, content } = await (await branching()).copyChat(sessionId, asked.id, edited, title);
        outbox.put(fork.id, content);
        void queryClient.invalidateQueries({ queryKey: ["sessions"] });
        await navigate({ to: "/chat/$sessionId", params: { sessionId: fork.id } });
      },
      regenerate: async (turn, model) => {
        if (isRegenerating.current) return;
        isRegenerating.current = true;
        try {
          await (await branching()).regenerate(runOfMessage(latest.current, turn), model);
          onBranch();
        } catch (thrown) {
          toast.failed(thrown);
        } finally {
          isRegenerating.current = false;
        }
      },
      choose: (leaf) => choose(leaf).catch(toast.failed),
      show: async (runId) => {
        const leaf = await (await branching()).leafToShow(sessionId, runId);
        if (leaf !== null) await choose(leaf);
        return leaf !== null;
      },
    };
  }, [socket, outbox, toast, navigate, queryClient, sessionId, reload, onBranch, left]);
}

/** The run whose message a turn answers: a run that continues after a question has no message of its own. */
function runOfMessage(turns: readonly Turn[], { runId }: Turn): string {
  const upTo = turns.findIndex((turn) => turn.runId === runId);
  return turns.slice(0, upTo + 1).findLast((turn) => turn.asked.length > 0)?.runId ?? runId;
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
