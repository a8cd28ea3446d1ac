/** One chat: its header, its thread and the box to write in, kept in step with what runs. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { MessageSquareOff } from "lucide-react";
import { type ReactNode, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { sessionQuery } from "@/api/queries";
import { useReading } from "@/api/use-reading";
import { KeptStates } from "@/components/turn/kept-state";
import { ToolServers } from "@/components/turn/tool-title";
import { buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { useTitle } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { useToast } from "@/components/ui/toast";
import type { Branch, SessionWithMessages, SuggestionView } from "@/protocol/api";
import type { Content } from "@/protocol/commands";
import { useOutbox } from "@/realtime/outbox-context";
import { useSocket } from "@/realtime/socket-context";
import { type AgentStream, useAgentStream } from "@/realtime/use-agent-stream";
import { activeAgent, runningTurn, type Turn } from "@/state/thread";
import { Announcer } from "./announcer";
import { ChatHeader } from "./chat-header";
import { Composer } from "./composer";
import { loadDraft, moveDraft, NEW_CHAT } from "./drafts";
import { loadLater, SuggestionsReader } from "./messages/later";
import { ThreadSkeleton } from "./thread-skeleton";
import { type ThreadHandle, ThreadView } from "./thread-view";
import { useToolServers } from "./tool-servers";
import { useTurnActions } from "./turn-actions";
import { useNewest } from "./usage";
import { useWaitingMessages } from "./waiting-messages";

/** Which branch is chosen is no event: another page of the chat that is open asks for it. */
const FOLLOWED = { refetchInterval: 10_000, refetchOnWindowFocus: "always" } as const;
const NO_BRANCHES: Branch[] = [];
const NO_SUGGESTIONS: readonly SuggestionView[] = [];

export function Conversation({
  sessionId,
  onReload,
}: {
  sessionId: string;
  onReload: () => void;
}): ReactNode {
  const stream = useAgentStream(sessionId);
  if (stream.phase === "gone") return <Gone sessionId={sessionId} />;
  if (stream.phase === "failed")
    return (
      <div className="mx-auto max-w-2xl p-8">
        <ProblemNote problem={stream.problem} onRetry={onReload} />
      </div>
    );
  return <Following sessionId={sessionId} stream={stream} />;
}

function Following({ sessionId, stream }: { sessionId: string; stream: AgentStream }): ReactNode {
  const { thread, phase } = stream;
  const outbox = useOutbox();
  const session = useQuery({ ...sessionQuery(sessionId), ...FOLLOWED }).data;
  const handle = useRef<ThreadHandle>(null);
  const [atEnd, setAtEnd] = useState(true);
  const waiting = useWaitingMessages(sessionId, thread, phase === "live");
  const turn = runningTurn(thread);
  const running = useProgress(turn);
  const newest = useNewest(thread.turns);
  const queued = thread.turns.some(({ status }) => status === "queued") || waiting.some(isTaken);
  const busy = turn !== undefined || queued;
  const { stop, stopping } = useStop(sessionId, turn?.runId, busy);
  const onBranch = useCallback(() => handle.current?.toBranch(), []);
  const [suggestions, setSuggestions] = useState(NO_SUGGESTIONS);
  const servers = useToolServers(thread.turns);
  const agent = activeAgent(thread.turns) ?? session?.active_agent ?? session?.agent_name ?? "";
  const actions = useTurnActions(sessionId, stream, onBranch);
  useChosenBranch(session, stream);
  useEffect(() => {
    if (phase === "live") loadLater();
  }, [phase]);
  useRefreshing(sessionId, thread.turns, phase === "live");
  useReading(sessionId, phase === "live" && !turn ? thread.pos : 0, atEnd);

  const send = useCallback(
    async (content: Content, steer = false) => {
      outbox.put(sessionId, content, steer);
      handle.current?.toEnd();
    },
    [outbox, sessionId],
  );

  return (
    <div className="flex h-full flex-col">
      <ChatHeader sessionId={sessionId} agent={agent} newest={newest} running={running} />
      {phase === "loading" && waiting.length === 0 ? (
        <ThreadSkeleton />
      ) : (
        <KeptStates>
          <ToolServers value={servers}>
            <ThreadView
              sessionId={sessionId}
              stream={stream}
              waiting={waiting}
              forkedFrom={session?.forked_from ?? null}
              suggestions={suggestions}
              branches={session?.branches ?? NO_BRANCHES}
              actions={actions}
              blocked={busy ? "Wait for the answer, or stop it." : null}
              onAtEnd={setAtEnd}
              handle={handle}
            />
          </ToolServers>
        </KeptStates>
      )}
      <div className="shrink-0 px-4 pt-1 pb-4">
        <div className="mx-auto w-full max-w-3xl">
          <Composer
            draft={sessionId}
            placeholder={agent ? `Message ${agent}` : "Message"}
            onSend={send}
            busy={busy}
            steerable={turn !== undefined && !stopping}
            stopping={stopping}
            onStop={stop}
          />
        </div>
      </div>
      <Announcer turns={thread.turns} />
      {phase === "live" && (
        <Suspense>
          <SuggestionsReader sessionId={sessionId} turn={thread.turns.at(-1)} onRead={setSuggestions} />
        </Suspense>
      )}
    </div>
  );
}

/** Shows the branch that another page of the chat chose. */
function useChosenBranch(session: SessionWithMessages | undefined, stream: AgentStream): void {
  const { thread, phase, reload } = stream;
  const isOther =
    session !== undefined &&
    phase === "live" &&
    session.last_pos === thread.pos &&
    session.leaf_run_id !== thread.leaf;
  useEffect(() => {
    if (isOther) void reload();
  }, [isOther, reload]);
}

function isTaken({ messageId, problem }: { messageId: string | null; problem: unknown }): boolean {
  return messageId !== null && !problem;
}

/** What the header says of a run; the same object while none of it changes. */
function useProgress(turn: Turn | undefined): Pick<Turn, "runId" | "step" | "startedAt"> | null {
  const { runId, step = 0, startedAt = null } = turn ?? {};
  return useMemo(() => (runId ? { runId, step, startedAt } : null), [runId, step, startedAt]);
}

/** Stops the running run and keeps the queued ones; without a running one, stops the queued ones. */
function useStop(
  sessionId: string,
  runId: string | undefined,
  busy: boolean,
): { stop: () => void; stopping: boolean } {
  const socket = useSocket();
  const toast = useToast();
  const [stopping, setStopping] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next run is not being stopped
  useEffect(() => setStopping(false), [busy, runId]);
  const stop = useCallback(() => {
    setStopping(true);
    const what = runId ? { run_id: runId } : { session_id: sessionId };
    socket.ask({ type: "cancel", ...what }).catch((thrown: unknown) => {
      setStopping(false);
      toast.failed(thrown);
    });
  }, [socket, sessionId, runId, toast]);
  return { stop, stopping };
}

/** Reads again what is shown elsewhere of this chat whenever a run begins or ends. */
function useRefreshing(sessionId: string, turns: readonly Turn[], live: boolean): void {
  const queryClient = useQueryClient();
  const active = turns.at(-1)?.status === "running" || turns.at(-1)?.status === "queued";
  const standing = turns
    .slice(-3)
    .map(({ runId, status }) => `${runId} ${status}`)
    .join();
  const before = useRef<string | null>(null);
  useEffect(() => {
    if (!live || before.current === standing) return;
    const opened = before.current === null;
    before.current = standing;
    if (opened && !active) return; // what is shown was read just now
    for (const queryKey of [["sessions"], ["session", sessionId], ...(active ? [] : [["runs"]])])
      void queryClient.invalidateQueries({ queryKey });
  }, [queryClient, sessionId, standing, live, active]);
}

function Gone({ sessionId }: { sessionId: string }): ReactNode {
  useTitle("Chat");
  const queryClient = useQueryClient();
  useEffect(() => void queryClient.invalidateQueries({ queryKey: ["sessions"] }), [queryClient]);
  const [written] = useState(() => loadDraft(sessionId).text);
  return (
    <div className="h-full overflow-y-auto">
      <Empty
        whole
        icon={MessageSquareOff}
        title="Chat not found"
        action={
          <Link
            to="/chat"
            search={{}}
            onClick={() => moveDraft(sessionId, NEW_CHAT)}
            className={buttonClass("primary")}
          >
            {written ? "Continue in a new chat" : "New chat"}
          </Link>
        }
      >
        It was deleted, or it belongs to another person or team.
        {written && " Your draft moves to the new chat."}
      </Empty>
    </div>
  );
}
