/** The hook over server-sent events, against a network that breaks in the middle of a frame. */
import { act, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { beforeEach, expect, test, vi } from "vitest";
import { textOf } from "@/state/thread";
import { eventStreams } from "./event-stream";
import { SocketProvider } from "./socket-context";
import { useAgentStream } from "./use-agent-stream";

const SESSION = {
  id: "ses_1",
  last_pos: 0,
  stream_after: 0,
  previous: null,
  next: null,
  messages: [],
};
const said = (pos: number, delta: string) => {
  const event = { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta, metadata: { run: "run_1", seq: pos } };
  return `id: ${pos}\ndata: ${JSON.stringify(event)}\n\n`;
};
const STARTED = `id: 1\ndata: ${JSON.stringify({
  type: "RUN_STARTED",
  threadId: "thr_1",
  runId: "run_1",
  input: { threadId: "thr_1", runId: "run_1", messages: [{ id: "u1", role: "user", content: "hello" }] },
  metadata: { run: "run_1", seq: 1 },
})}\n\n`;
const FINISHED = `id: 6\ndata: ${JSON.stringify({
  type: "RUN_FINISHED",
  threadId: "thr_1",
  runId: "run_1",
  metadata: { run: "run_1", seq: 6 },
})}\n\n`;

/** A response whose body comes in pieces, and then ends or breaks. */
function stream(pieces: string[], breaks = false): Response {
  const left = [...pieces];
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = left.shift();
      if (piece !== undefined) return controller.enqueue(new TextEncoder().encode(piece));
      await new Promise((resolve) => setTimeout(resolve)); // what came before is read first
      if (breaks) controller.error(new TypeError("network error"));
      else controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function Probe(): ReactNode {
  const { thread, phase, online } = useAgentStream("ses_1", eventStreams);
  const words = thread.turns.flatMap((turn) => [
    ...turn.asked.map((asked) => textOf(asked.content)),
    ...turn.parts.map((part) => (part.kind === "text" ? part.text : part.kind)),
    turn.status,
  ]);
  return (
    <>
      <p data-testid="words">{words.join("|")}</p>
      <p data-testid="phase">{`${phase} ${online}`}</p>
    </>
  );
}

const cursors: (string | null)[] = [];

function network(streams: (() => Response)[]): void {
  cursors.length = 0;
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
    const request = input instanceof Request ? input : new Request(new URL(input, "http://here"), init);
    const { pathname } = new URL(request.url);
    if (pathname.endsWith("/stream")) {
      cursors.push(new Headers(init?.headers).get("last-event-id"));
      const next = streams.shift();
      if (!next) throw new TypeError("Failed to fetch");
      return next();
    }
    return Response.json(pathname === "/api/runs" ? { items: [], next: null } : SESSION);
  });
}

beforeEach(() => {
  vi.stubGlobal(
    "WebSocket",
    class {
      close() {}
    },
  );
});

async function shown(): Promise<void> {
  await act(async () => {
    render(
      <SocketProvider mayReturn={async () => false}>
        <Probe />
      </SocketProvider>,
    );
  });
}

test("a stream that breaks in the middle of a frame goes on after the last whole one: nothing lost, nothing twice", async () => {
  const third = said(4, "c");
  network([
    () => stream([`: keep-alive\n\n${STARTED}${said(2, "a")}${said(3, "b")}${third.slice(0, 20)}`], true),
    () => stream([said(3, "b"), third, said(5, "d").slice(0, 9), said(5, "d").slice(9), FINISHED]),
  ]);
  await shown();
  await waitFor(() => expect(screen.getByTestId("words").textContent).toBe("hello|abcd|completed"), {
    timeout: 30_000,
  });
  expect(cursors.slice(0, 2)).toEqual(["0", "3"]);
});

test("a session that is gone says so", async () => {
  network([() => Response.json({ error: { code: "session_not_found", message: "Gone." } }, { status: 404 })]);
  await shown();
  await waitFor(() => expect(screen.getByTestId("phase").textContent).toMatch(/^gone/));
});

test("one who may not read is told, and does not ask again", async () => {
  network([
    () => Response.json({ error: { code: "unauthenticated", message: "Sign in." } }, { status: 401 }),
  ]);
  await shown();
  await waitFor(() => expect(screen.getByTestId("phase").textContent).toMatch(/^failed/));
  expect(cursors).toHaveLength(1);
});

test("while the server is away the page says so, and keeps trying", async () => {
  network([
    () => stream([STARTED, said(2, "a")]),
    () => Response.json({}, { status: 503 }),
    () => stream([said(3, "b")]),
  ]);
  await shown();
  await waitFor(() => expect(screen.getByTestId("words").textContent).toBe("hello|ab|running"), {
    timeout: 30_000,
  });
});
