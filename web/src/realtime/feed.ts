/** Where events come from: the socket or a stream of server-sent events. Both resume by cursor. */

import type { Problem } from "@/api/problem";
import type { Event } from "@/protocol/events";

export interface FeedListener {
  /** Events from a position on, each once and in order. */
  events: (first: number, events: Event[]) => void;
  /** The session is gone. */
  deleted: () => void;
  /** It cannot be followed; for good. */
  failed: (problem: Problem) => void;
  /** Whether there is a connection. */
  online: (online: boolean) => void;
}

export interface Feed {
  /** Follows a session after a position; returns how to stop. */
  follow(sessionId: string, after: number, listener: FeedListener): () => void;
}
