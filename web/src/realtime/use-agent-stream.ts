/** React's view of a conversation: `const { thread, online } = useAgentStream(sessionId)`. */
import { useMemo, useSyncExternalStore } from "react";
import type { Feed } from "./feed";
import { SessionStream, type Stream } from "./session-stream";
import { useSocket } from "./socket-context";

export interface AgentStream extends Stream {
  loadOlder: () => Promise<void>;
  reload: () => Promise<void>;
}

/** Follows a session, over the page's socket or the feed that is given, and resumes by itself where it was. */
export function useAgentStream(sessionId: string, feed?: Feed): AgentStream {
  const socket = useSocket();
  const source = feed ?? socket;
  const stream = useMemo(() => new SessionStream(sessionId, source), [sessionId, source]);
  const state = useSyncExternalStore(stream.watch, stream.get);
  return useMemo(() => ({ ...state, loadOlder: stream.loadOlder, reload: stream.reload }), [state, stream]);
}
