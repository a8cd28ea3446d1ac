/** Copies a chat under a name that stays the same until the server has said what became of it. */
import { api, data } from "@/api/client";
import { problemOf } from "@/api/problem";
import { newKey } from "@/lib/new-key";
import type { SessionView } from "@/protocol/api";

const keys = new Map<string, string>();

/** Asks for a copy of all before a message. Asked again after an answer was lost, it is the copy that was made. */
export async function forkOnce(sessionId: string, before: string, title?: string): Promise<SessionView> {
  const place = `${sessionId} ${before}`;
  const key = keys.get(place) ?? newKey();
  keys.set(place, key);
  try {
    const params = { path: { session_id: sessionId }, header: { "Idempotency-Key": key } };
    const body = title ? { before, title } : { before };
    const fork = await data(api.POST("/api/agent-sessions/{session_id}/fork", { params, body }));
    keys.delete(place);
    return fork;
  } catch (thrown) {
    const { status } = problemOf(thrown);
    const refused = status >= 400 && status < 500 && status !== 429;
    if (refused) keys.delete(place);
    throw thrown;
  }
}
