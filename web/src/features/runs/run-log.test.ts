/** Reading a log over the network, whole, in pieces, and through a break. */
import { afterEach, expect, test, vi } from "vitest";
import { type LogState, RunLog } from "./run-log";

const line = (seq: number, type = "TEXT_MESSAGE_CHUNK") =>
  `${JSON.stringify({ type, messageId: "m", delta: `é${seq}`, metadata: { run: "r", seq } })}\n`;

afterEach(() => vi.unstubAllGlobals());

/** A server whose answers are lists of byte pieces; an Error breaks the answer off there. */
function serve(...answers: (Uint8Array | Error)[][]): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    const pieces = answers.shift();
    if (!pieces) throw new TypeError("nobody answers");
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else if (piece instanceof Error) controller.error(piece);
        else controller.enqueue(piece);
      },
    });
    return new Response(body);
  });
  return asked;
}

const bytes = (text: string) => new TextEncoder().encode(text);

function until(log: RunLog, fits: (state: LogState) => boolean): Promise<LogState> {
  return new Promise((resolve) => {
    const stop = log.watch(() => {
      if (!fits(log.get())) return;
      queueMicrotask(() => stop());
      resolve(log.get());
    });
  });
}

test("lines that are cut anywhere, even in a letter, are whole events", async () => {
  const whole = bytes(line(1) + line(2) + line(3, "RUN_FINISHED"));
  const pieces = [...whole].map((byte) => Uint8Array.of(byte));
  serve(pieces);
  const { events } = await until(new RunLog("r"), (state) => state.phase === "ready");
  expect(events.map((event) => ("delta" in event ? event.delta : ""))).toEqual(["é1", "é2", "é3"]);
});

test("fifty thousand events arrive whole and in order", async () => {
  const all = Array.from({ length: 50_000 }, (_, at) =>
    line(at + 1, at === 49_999 ? "RUN_FINISHED" : undefined),
  );
  serve([bytes(all.join(""))]);
  const { events } = await until(new RunLog("r"), (state) => state.phase === "ready");
  expect(events.length).toBe(50_000);
  expect(events[49_998]?.metadata).toEqual({ run: "r", seq: 49_999 });
});

test("a log that breaks off says so, and goes on where it was", async () => {
  const asked = serve([bytes(line(1)), new TypeError("reset")], [bytes(line(2, "RUN_ERROR"))]);
  const log = new RunLog("a/b");
  const broken = await until(log, (state) => state.phase === "failed");
  expect(broken.problem?.code).toBe("offline");
  const whole = until(log, (state) => state.phase === "ready");
  expect((await whole).events.length).toBe(2);
  expect(asked).toEqual(["/api/runs/a%2Fb/events?after=0", "/api/runs/a%2Fb/events?after=1"]);
});

test("a line that is no event is a problem, not a crash", async () => {
  serve([bytes(`${line(1)}{"type": "TEX`)]);
  const { events, problem } = await until(new RunLog("r"), (state) => state.phase === "failed");
  expect(problem?.code).toBe("unreadable_log");
  expect(events.length).toBe(1);
});

test("a run that goes on is read again until its last event", async () => {
  const asked = serve([bytes(line(1))], [], [bytes(line(2, "RUN_FINISHED"))]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const log = new RunLog("r");
    const ended = until(log, (state) => state.events.length === 2);
    for (let tries = 0; tries < 50 && asked.length < 3; tries++) await vi.advanceTimersByTimeAsync(500);
    await ended;
    await vi.advanceTimersByTimeAsync(10_000);
  } finally {
    vi.useRealTimers();
  }
  expect(asked.map((url) => url.split("=")[1])).toEqual(["0", "1", "1"]);
});
