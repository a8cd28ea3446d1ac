/** The conversation with the tried agent, as it is written. */
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { useReading } from "@/api/use-reading";
import { AskedContent } from "@/components/turn/asked-content";
import { ReadOnlyTurn } from "@/components/turn/read-only-turn";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { eventStreams } from "@/realtime/event-stream";
import { useAgentStream } from "@/realtime/use-agent-stream";
import type { Sent } from "./try-panel";
import { TryQuestions } from "./try-questions";

interface TryThreadProps {
  sessionId: string;
  sent: Sent | null;
  onRunning: (running: boolean) => void;
  onGone: () => void;
}

const NEAR_END_PX = 80;

export function TryThread({ sessionId, sent, onRunning, onGone }: TryThreadProps): ReactNode {
  const { thread, phase, online, problem } = useAgentStream(sessionId, eventStreams);
  const queryClient = useQueryClient();
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const newest = thread.turns.at(-1);
  const arrived = sent !== null && thread.turns.some((turn) => turn.runId === sent.runId);
  const running =
    newest?.status === "running" || newest?.status === "queued" || (sent?.runId != null && !arrived);
  const news = newest && `${newest.runId} ${newest.status}`;

  useReading(sessionId, phase === "live" ? thread.pos : 0, true);
  useEffect(() => onRunning(running), [onRunning, running]);
  useEffect(() => {
    if (phase === "gone") onGone();
  }, [phase, onGone]);
  useEffect(() => {
    if (news) void queryClient.invalidateQueries({ queryKey: ["runs"] });
  }, [queryClient, news]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end stays in sight as content is added
  useEffect(() => {
    if (atEnd.current) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [thread, sent]);

  return (
    <div
      ref={box}
      role="log"
      aria-label="Conversation"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="flex flex-1 flex-col gap-4 overflow-y-auto px-5 py-4"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
      }}
    >
      {phase === "loading" && !sent && <SkeletonRows rows={2} className="h-10" />}
      {phase === "failed" && <ProblemNote problem={problem} />}
      {!online && <p className="text-center text-xs text-soft">Reconnecting…</p>}
      {thread.turns.map((turn) => (
        <ReadOnlyTurn key={turn.runId} turn={turn} />
      ))}
      {sent && !arrived && <AskedContent content={sent.text} />}
      <TryQuestions sessionId={sessionId} thread={thread} />
    </div>
  );
}
