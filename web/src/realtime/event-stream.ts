/** The other way to follow a session: server-sent events. Each has its position as its id, by which it resumes. */

import { refusalOf } from "@/api/client";
import { problemOf } from "@/api/problem";
import type { Event } from "@/protocol/events";
import { backoffMs } from "./backoff";
import type { Feed, FeedListener } from "./feed";

const FOR_GOOD = new Set(["unauthenticated", "forbidden"]);

/** Follows sessions over `GET /api/agent-sessions/{id}/stream`, one request a session. */
export const eventStreams: Feed = {
  follow(sessionId, after, listener) {
    const stop = new AbortController();
    void keepReading(sessionId, after, listener, stop.signal);
    return () => stop.abort();
  },
};

async function keepReading(
  sessionId: string,
  start: number,
  listener: FeedListener,
  signal: AbortSignal,
): Promise<void> {
  let after = start;
  let tries = 0;
  while (!signal.aborted) {
    try {
      const path = `/api/agent-sessions/${encodeURIComponent(sessionId)}/stream`;
      const response = await fetch(path, { headers: { "last-event-id": String(after) }, signal });
      if (!response.ok || !response.body) throw await refusalOf(response);
      listener.online(true);
      for await (const frame of framesOf(response.body)) {
        tries = 0;
        if (frame.id <= after) continue;
        after = frame.id;
        listener.events(frame.id, [frame.event]);
      }
    } catch (thrown) {
      if (signal.aborted) return;
      const problem = problemOf(thrown);
      if (problem.code === "session_not_found") return listener.deleted();
      if (FOR_GOOD.has(problem.code)) return listener.failed(problem);
    }
    listener.online(false);
    await pause(backoffMs(tries++), signal);
  }
}

interface Frame {
  id: number;
  event: Event;
}

/** Reads frames as they come; half a frame waits for its rest, comments are left out. */
export async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (rest + value).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const parsed = parseFrame(frame);
        if (parsed) yield parsed;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseFrame(frame: string): Frame | undefined {
  const lines = frame.split("\n");
  const id = lines.find((line) => line.startsWith("id: "));
  const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice("data: ".length));
  if (id === undefined || data.length === 0) return undefined;
  return { id: Number(id.slice("id: ".length)), event: JSON.parse(data.join("\n")) as Event };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
