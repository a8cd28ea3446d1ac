/** A small chat with the saved agent, in a session of its own, followed by server-sent events. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { api, data } from "@/api/client";
import { problemOf } from "@/api/problem";
import { Button } from "@/components/ui/button";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import { tabMemory } from "@/lib/memory";
import { newKey } from "@/lib/new-key";
import type { AgentView } from "@/protocol/api";
import { TryComposer } from "./try-composer";

// It brings the Markdown renderer with it.
const TryThread = lazy(async () => ({ default: (await import("./try-thread")).TryThread }));

/** A message on its way: it is shown until its run is in the thread. */
export interface Sent {
  text: string;
  runId: string | null;
}

const TITLE_CHARS = 200;
const keptIn = (agentId: string) => `agio.try.${agentId}`;

export function TryPanel({ agent, dirty }: { agent: AgentView; dirty: boolean }): ReactNode {
  const [sessionId, setSessionId] = useState(() => tabMemory.read(keptIn(agent.id)));
  const [sent, setSent] = useState<Sent | null>(null);
  const [running, setRunning] = useState(false);
  const toast = useToast();
  const queryClient = useQueryClient();

  const keep = (id: string | null) => {
    setSessionId(id);
    tabMemory.keep(keptIn(agent.id), id);
    void queryClient.invalidateQueries({ queryKey: ["sessions"] });
  };
  const forget = () => {
    keep(null);
    setSent(null);
    setRunning(false);
  };
  const send = useMutation({
    mutationFn: async (text: string) => {
      const id = sessionId ?? (await startSession(agent));
      if (id !== sessionId) keep(id);
      const path = { session_id: id };
      const body = { content: text, client_message_id: newKey() };
      return data(api.POST("/api/agent-sessions/{session_id}/message", { params: { path }, body }));
    },
    onMutate: (text) => setSent({ text, runId: null }),
    onSuccess: (taken, text) => setSent({ text, runId: taken.run_id }),
    onError: () => setSent(null),
  });
  const stop = useMutation({
    mutationFn: (id: string) =>
      api.POST("/api/agent-sessions/{session_id}/cancel", { params: { path: { session_id: id } } }),
    onError: toast.failed,
  });
  const reset = useMutation({
    mutationFn: async (id: string) => {
      try {
        await api.DELETE("/api/agent-sessions/{session_id}", { params: { path: { session_id: id } } });
      } catch (thrown) {
        if (problemOf(thrown).code !== "session_not_found") throw thrown;
      }
    },
    onSuccess: () => {
      forget();
      send.reset();
      void queryClient.invalidateQueries({ queryKey: ["runs"] });
    },
    onError: toast.failed,
  });

  const inactive = agent.status !== "active";
  return (
    <section
      aria-labelledby="try-title"
      className="relative flex h-[min(38rem,calc(100dvh-13rem))] min-h-80 xl:h-auto xl:flex-1 flex-col overflow-hidden rounded-2xl border border-line bg-raised"
    >
      <div className="flex items-center gap-2 border-b border-line py-2 pr-2 pl-5">
        <h2 id="try-title" className="flex-1 text-sm font-semibold">
          Try it
        </h2>
        <Button
          look="quiet"
          size="small"
          busy={reset.isPending}
          disabled={!sessionId}
          onClick={() => sessionId && reset.mutate(sessionId)}
        >
          {!reset.isPending && <RotateCcw className="size-4" aria-hidden />}
          Reset
        </Button>
      </div>
      <p
        aria-live="polite"
        className={dirty ? "bg-warn-soft px-5 py-2 text-[0.8125rem] text-warn" : "sr-only"}
      >
        {dirty ? "This is the saved agent, without your unsaved changes." : ""}
      </p>
      {sessionId ? (
        <Suspense fallback={<SkeletonRows rows={2} className="h-10" />}>
          <TryThread
            key={sessionId}
            sessionId={sessionId}
            sent={sent}
            onRunning={setRunning}
            onGone={forget}
          />
        </Suspense>
      ) : (
        <div className="flex flex-1 flex-col overflow-y-auto px-5 py-4">
          {sent ? (
            <SkeletonRows rows={2} className="h-10" />
          ) : (
            <p className="m-auto max-w-64 text-center text-sm text-soft">
              Send a message to see how the agent answers. Reset deletes this chat.
            </p>
          )}
        </div>
      )}
      <TryComposer
        disabled={inactive}
        placeholder={inactive ? "This agent is inactive" : `Message ${agent.name}`}
        problem={send.error}
        sending={send.isPending}
        running={running}
        stopping={stop.isPending}
        onSend={(text) =>
          send.mutateAsync(text).then(
            () => true,
            () => false,
          )
        }
        onStop={() => sessionId && stop.mutate(sessionId)}
      />
    </section>
  );
}

async function startSession(agent: AgentView): Promise<string> {
  const path = { agent_id: agent.id };
  const body = { title: `Try: ${agent.name}`.slice(0, TITLE_CHARS), on_busy: "queue" } as const;
  return (await data(api.POST("/api/agents/{agent_id}/sessions", { params: { path }, body }))).id;
}
