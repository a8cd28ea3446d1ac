/** A copy of a chat up to a message, to go another way from there. */
import { refusalOf } from "@/lib/api";
import type { SessionView } from "@/protocol/api";

/** Copies what came before a message into a new session. */
export async function forkSession(sessionId: string, before: string): Promise<SessionView> {
  const response = await fetch(`/api/agent-sessions/${encodeURIComponent(sessionId)}/fork`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ before }),
  });
  if (!response.ok) throw await refusalOf(response);
  return (await response.json()) as SessionView;
}
