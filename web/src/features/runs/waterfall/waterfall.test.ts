/** The waterfall of the streams the server's tests use, with times added, and of the cases a run log has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Event } from "@/protocol/events";
import { buildWaterfall, type Waterfall } from "./waterfall";
import { rowMs } from "./waterfall-rows";

interface Case {
  name: string;
  events: Event[];
}

const wire = join(import.meta.dirname, "../../../../../tests/wire");
const read = (name: string) => JSON.parse(readFileSync(join(wire, name), "utf8")) as Case[];
const streams = read("streams.json");
const wrong = [...read("wrong_streams.json"), ...read("house_streams.json")];

const BEGAN = 1_700_000_000_000;
const timed = (events: Event[]) => events.map((event, at) => ({ ...event, timestamp: BEGAN + at * 100 }));

/** A run's log from lines of `ms`, type and fields. */
const log = (...lines: [number, string, object?][]): Event[] =>
  lines.map(
    ([ms, type, fields], at) =>
      ({
        type,
        ...fields,
        timestamp: BEGAN + ms,
        metadata: {
          run: "r",
          seq: at + 1,
          ...(fields && "metadata" in fields ? (fields.metadata as object) : {}),
        },
      }) as unknown as Event,
  );
const own = (name: string, value: object) => ({ name: `agio.${name}`, value });

/** A waterfall in words: how deep, what, from when to when. */
const words = ({ rows }: Waterfall): string[] =>
  rows.map((row) => {
    const state = `${row.takenBack ? " discarded" : ""}${row.error ? ` ${row.error}` : ""}`;
    return `${"  ".repeat(row.depth)}${row.label} ${row.startMs}-${row.endMs ?? ""}${state}`;
  });

test.each(streams)("a good stream has only rows that end, inside the run: $name", ({ events }) => {
  const { rows, lengthMs, ended } = buildWaterfall(timed(events));
  expect(ended).toBe(true);
  expect(lengthMs).toBe((events.length - 1) * 100);
  for (const row of rows) {
    expect(row.startMs).toBeGreaterThanOrEqual(0);
    expect(row.endMs).toBeGreaterThanOrEqual(row.startMs);
    expect(row.endMs).toBeLessThanOrEqual(lengthMs);
  }
  expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
});

test.each([...streams, ...wrong])("whatever a stream has, nothing breaks: $name", ({ events }) => {
  expect(() => buildWaterfall(timed(events))).not.toThrow();
  expect(() => buildWaterfall(events)).not.toThrow();
});

test("every call, message and sub-agent of a good stream has a row", () => {
  for (const { events } of streams) {
    const { rows } = buildWaterfall(timed(events));
    const names = events.flatMap((event) => (event.type === "TOOL_CALL_START" ? [event.toolCallName] : []));
    const labels = rows.map((row) => row.label);
    for (const name of names) expect(labels).toContain(name);
    for (const event of events) if (event.type === "SUBAGENT_STARTED") expect(labels).toContain(event.name);
  }
});

const oneStep = log(
  [0, "RUN_STARTED", { threadId: "t", runId: "r" }],
  [10, "STEP_STARTED", { stepName: "step-1" }],
  [60, "REASONING_MESSAGE_CHUNK", { messageId: "m0", delta: "Hm" }],
  [90, "REASONING_MESSAGE_CHUNK", { messageId: "m0", delta: "." }],
  [100, "TOOL_CALL_START", { toolCallId: "c1", toolCallName: "calculator" }],
  [110, "TOOL_CALL_ARGS", { toolCallId: "c1", delta: '{"expression":"6*7"}' }],
  [120, "TOOL_CALL_END", { toolCallId: "c1" }],
  [124, "TOOL_CALL_RESULT", { messageId: "r1", toolCallId: "c1", content: "42" }],
  [
    125,
    "CUSTOM",
    own("metrics", { scope: "step", step: 1, model_ms: 112, tool_ms: 4, first_token_ms: 48, model_calls: 1 }),
  ],
  [126, "STEP_FINISHED", { stepName: "step-1" }],
);

test("a step holds its model call, what the model said and the tool it called", () => {
  const waterfall = buildWaterfall([
    ...oneStep,
    ...log([130, "RUN_FINISHED", { threadId: "t", runId: "r" }]),
  ]);
  expect(words(waterfall)).toEqual([
    "Step 1 10-126",
    "  Model 10-122",
    "  Reasoning 60-90",
    "  calculator 100-124",
  ]);
  const [, model, , tool] = waterfall.rows;
  expect(model).toMatchObject({ firstMs: 58, step: 1, metrics: { model_ms: 112 } });
  expect(tool).toMatchObject({ args: '{"expression":"6*7"}', result: "42", step: 1 });
  expect(tool && rowMs(tool, 0)).toBe(4);
});

test("two calls at once overlap, and each ends with its own result", () => {
  const call = (id: string) => ({ toolCallId: id });
  const waterfall = buildWaterfall(
    log(
      [0, "RUN_STARTED", { threadId: "t", runId: "r" }],
      [0, "STEP_STARTED", { stepName: "step-1" }],
      [10, "TOOL_CALL_START", { ...call("a"), toolCallName: "slow" }],
      [20, "TOOL_CALL_END", call("a")],
      [20, "TOOL_CALL_START", { ...call("b"), toolCallName: "quick" }],
      [30, "TOOL_CALL_END", call("b")],
      [
        40,
        "TOOL_CALL_RESULT",
        { messageId: "rb", ...call("b"), content: "no", metadata: { error: "tool_failed" } },
      ],
      [90, "TOOL_CALL_RESULT", { messageId: "ra", ...call("a"), content: "yes" }],
      [90, "STEP_FINISHED", { stepName: "step-1" }],
      [91, "RUN_FINISHED", { threadId: "t", runId: "r" }],
    ),
  );
  expect(words(waterfall)).toEqual([
    "Step 1 0-90",
    "  Model 0-30",
    "  slow 10-90",
    "  quick 20-40 tool_failed",
  ]);
});

test("a try that breaks off is discarded, waited after, and made again under the same ids", () => {
  const waterfall = buildWaterfall(
    log(
      [0, "RUN_STARTED", { threadId: "t", runId: "r" }],
      [0, "STEP_STARTED", { stepName: "step-1" }],
      [20, "TEXT_MESSAGE_CHUNK", { messageId: "m1", delta: "Half" }],
      [50, "CUSTOM", own("rewind", { to_seq: 2 })],
      [
        50,
        "CUSTOM",
        own("error", { code: "stream_broken", message: "It broke.", attempt: 1, retry_in_ms: 100 }),
      ],
      [180, "TEXT_MESSAGE_CHUNK", { messageId: "m1", delta: "Whole" }],
      [190, "STEP_FINISHED", { stepName: "step-1" }],
      [191, "RUN_FINISHED", { threadId: "t", runId: "r" }],
    ),
  );
  expect(words(waterfall)).toEqual([
    "Step 1 0-190",
    "  Model 0-50 discarded",
    "  Text 20-20 discarded",
    "  Discarded 50-50",
    "  Waiting to retry 50-150 stream_broken",
    "  Model, attempt 2 150-180",
    "  Text 180-180",
  ]);
});

test("a call that fails before anything was said is tried again without a rewind", () => {
  const waterfall = buildWaterfall(
    log(
      [0, "RUN_STARTED", { threadId: "t", runId: "r" }],
      [0, "STEP_STARTED", { stepName: "step-1" }],
      [
        30,
        "CUSTOM",
        own("error", { code: "rate_limited", message: "Slow down.", attempt: 1, retry_in_ms: 40 }),
      ],
      [90, "TEXT_MESSAGE_CHUNK", { messageId: "m1", delta: "Now" }],
      [95, "RUN_FINISHED", { threadId: "t", runId: "r" }],
    ),
  );
  expect(words(waterfall)).toEqual([
    "Step 1 0-95",
    "  Model 0-30 discarded",
    "  Waiting to retry 30-70 rate_limited",
    "  Model, attempt 2 70-95",
    "  Text 90-90",
  ]);
});

test("a failed run ends all that was open, and says why", () => {
  const waterfall = buildWaterfall(
    log(
      [0, "RUN_STARTED", { threadId: "t", runId: "r" }],
      [5, "STEP_STARTED", { stepName: "step-1" }],
      [20, "TEXT_MESSAGE_CHUNK", { messageId: "m1", delta: "Half" }],
      [50, "CUSTOM", own("rewind", { to_seq: 2 })],
      [50, "CUSTOM", own("metrics", { scope: "step", step: 1, model_ms: 45, tool_ms: 0, model_calls: 1 })],
      [50, "RUN_ERROR", { message: "It failed.", code: "demo_failure" }],
    ),
  );
  expect(words(waterfall)).toEqual([
    "Step 1 5-50",
    "  Model 5-50 discarded",
    "  Text 20-20 discarded",
    "  Discarded 50-50",
    "Run failed 50-50 demo_failure",
  ]);
  expect(waterfall.rows.at(-1)?.note).toBe("It failed.");
});

test("what goes on has no end and reaches to now", () => {
  const waterfall = buildWaterfall(oneStep.slice(0, 7), { now: BEGAN + 500 });
  expect(words(waterfall)).toEqual(["Step 1 10-", "  Model 10-", "  Reasoning 60-90", "  calculator 100-"]);
  expect(waterfall).toMatchObject({ lengthMs: 500, ended: false });
});

test("a question ends the run, and the run that answers begins with the answer and the tool it lets run", () => {
  const outcome = { type: "interrupt", interrupts: [{ id: "i", reason: "tool_call", message: "May I?" }] };
  const asked = buildWaterfall(
    log(
      [0, "RUN_STARTED", { threadId: "t", runId: "r" }],
      [10, "TOOL_CALL_START", { toolCallId: "c9", toolCallName: "send_postcard" }],
      [20, "TOOL_CALL_END", { toolCallId: "c9" }],
      [40, "RUN_FINISHED", { threadId: "t", runId: "r", outcome }],
    ),
  );
  expect(words(asked)).toEqual(["send_postcard 10-20", "Asks for approval 40-40"]);
  expect(asked.rows.map((row) => row.note)).toEqual([expect.stringContaining("Not run here"), "May I?"]);
  const resume = [{ interruptId: "i", status: "resolved", payload: { approved: true } }];
  const answered = buildWaterfall(
    log(
      [0, "RUN_STARTED", { threadId: "t", runId: "r", input: { threadId: "t", runId: "r", resume } }],
      [30, "TOOL_CALL_RESULT", { messageId: "x", toolCallId: "c9", content: "sent" }],
      [40, "RUN_FINISHED", { threadId: "t", runId: "r" }],
    ),
    { toolNames: new Map([["c9", "send_postcard"]]) },
  );
  expect(words(answered)).toEqual(["Approved 0-0", "send_postcard 0-30"]);
});

test("sub-agents hold what they did", () => {
  const inner = { subagentRunId: "s1" };
  const waterfall = buildWaterfall(
    log(
      [0, "RUN_STARTED", { threadId: "t", runId: "r" }],
      [0, "STEP_STARTED", { stepName: "step-1" }],
      [10, "SUBAGENT_STARTED", { ...inner, name: "researcher" }],
      [10, "STEP_STARTED", { stepName: "step-1", ...inner }],
      [20, "TEXT_MESSAGE_CHUNK", { messageId: "m", delta: "found", ...inner }],
      [30, "STEP_FINISHED", { stepName: "step-1", ...inner }],
      [40, "SUBAGENT_ERROR", { ...inner, message: "It gave up." }],
      [50, "STEP_FINISHED", { stepName: "step-1" }],
      [50, "RUN_FINISHED", { threadId: "t", runId: "r" }],
    ),
  );
  expect(words(waterfall)).toEqual([
    "Step 1 0-50",
    "  Model 0-50",
    "  researcher 10-40 failed",
    "    Step 1 10-30",
    "      Model 10-20",
    "      Text 20-20",
  ]);
  const lane = { depth: 1, startMs: 10, endMs: 40 };
  expect(waterfall.rows.map(({ lanes }) => lanes)).toEqual([[], [], ...Array(4).fill([lane])]);
});

test("a handoff is a moment, and the steps after it say whose they are", () => {
  const given = { from: "desk", to: "billing", filter: "no_tools", reason: "a refund" };
  const handed: Parameters<typeof log> = [
    [0, "STEP_STARTED", { stepName: "step-1" }],
    [10, "CUSTOM", own("handoff", given)],
    [20, "STEP_FINISHED", { stepName: "step-1" }],
    [20, "STEP_STARTED", { stepName: "step-2" }],
    [30, "STEP_FINISHED", { stepName: "step-2" }],
    [30, "RUN_FINISHED", { threadId: "t", runId: "r" }],
  ];
  const started = (metadata: object) =>
    buildWaterfall(
      log([0, "RUN_STARTED", { threadId: "t", runId: "r", metadata }], ...structuredClone(handed)),
    );
  const waterfall = started({});
  expect(words(waterfall)).toEqual([
    "Step 1 0-20",
    "  Model 0-10",
    "  desk → billing 10-10",
    "Step 2 · billing 20-30",
    "  Model 20-30",
  ]);
  expect(waterfall.rows[2]?.note).toBe("a refund\nbilling sees no tool calls or results.");
  expect(started({ agent: "clerk" }).rows[0]?.label).toBe("Step 1 · clerk");
});

test("a clock that goes back after a takeover makes no bar that ends before it begins", () => {
  const waterfall = buildWaterfall(
    log(
      [0, "RUN_STARTED", { threadId: "t", runId: "r" }],
      [500, "STEP_STARTED", { stepName: "step-1" }],
      [100, "CUSTOM", own("rewind", { to_seq: 2 })],
      [200, "TEXT_MESSAGE_CHUNK", { messageId: "m", delta: "again" }],
      [900, "RUN_FINISHED", { threadId: "t", runId: "r" }],
    ),
  );
  for (const row of waterfall.rows) expect(row.endMs).toBeGreaterThanOrEqual(row.startMs);
});

test("a summary of older messages stands where it was made, with its text", () => {
  const events = log(
    [0, "RUN_STARTED", { threadId: "t", runId: "r" }],
    [10, "CUSTOM", own("memory_suggested", { suggestions: ["sug_1", "sug_2"] })],
    [20, "STEP_STARTED", { stepName: "step-1" }],
    [500, "CUSTOM", own("compacted", { text: "Ann has a dog.", messages: 12 })],
    [600, "TEXT_MESSAGE_CHUNK", { messageId: "m", delta: "Yes." }],
    [700, "STEP_FINISHED", { stepName: "step-1" }],
    [710, "RUN_FINISHED", { threadId: "t", runId: "r" }],
  );
  const { rows } = buildWaterfall(events);
  const notices = rows.filter((row) => row.kind === "notice");
  expect(notices.map(({ label, note, text, startMs }) => [label, note, text, startMs])).toEqual([
    ["memories", "2 memories suggested since the last run of the chat.", "", 10],
    [
      "summary",
      "12 older messages were summarised. The model sees the summary instead.",
      "Ann has a dog.",
      500,
    ],
  ]);
  const model = rows.find((row) => row.kind === "model");
  expect([model?.startMs, model?.firstMs]).toEqual([500, 600]);
});
