/** The reducer against the same streams as the server's tests, and the cases only a page has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Event } from "@/protocol/events";
import { foldEvents, noteAnswer } from "./fold";
import { turnsOf } from "./history";
import {
  EMPTY,
  findCall,
  newTurn,
  openQuestions,
  type Part,
  runningTurn,
  saidIn,
  type Thread,
  textOf,
} from "./thread";

interface Case {
  name: string;
  events: Event[];
}

const wire = join(import.meta.dirname, "../../../tests/wire");
const streams = JSON.parse(readFileSync(join(wire, "streams.json"), "utf8")) as Case[];
const houseStreams = JSON.parse(readFileSync(join(wire, "house_streams.json"), "utf8")) as Case[];
const wrongStreams = JSON.parse(readFileSync(join(wire, "wrong_streams.json"), "utf8")) as Case[];

const fold = (events: unknown[], thread: Thread = EMPTY): Thread =>
  foldEvents(thread, thread.pos + 1, events as Event[]);

/** A page's words for a stream: what a person would read, in order. */
function words(parts: Part[]): string[] {
  return parts.flatMap((part): string[] => {
    switch (part.kind) {
      case "text":
      case "reasoning":
        return [`${part.kind} ${part.text}`];
      case "call":
        return [`call ${part.name}(${part.args}) = ${part.result === null ? "?" : textOf(part.result)}`];
      case "subagent":
        return [`subagent ${part.name} ${part.status}`, ...words(part.parts).map((word) => `  ${word}`)];
      case "notice":
        return [`${part.level} ${part.code}`];
      default:
        return [];
    }
  });
}

const told = (thread: Thread): string[] => thread.turns.flatMap((turn) => words(turn.parts));

test.each(streams)(
  "a good stream folds the same whole, event by event and told twice: $name",
  ({ events }) => {
    const whole = fold(events);
    expect(whole.pos).toBe(events.length);
    const single = events.reduce((thread, event, index) => foldEvents(thread, index + 1, [event]), EMPTY);
    expect(single).toEqual(whole);
    expect(foldEvents(whole, 1, events)).toBe(whole);
  },
);

test.each(streams)("a good stream leaves nothing running, and every run it started: $name", ({ events }) => {
  const thread = fold(events);
  const started = events.flatMap((event) => (event.type === "RUN_STARTED" ? [event.runId] : []));
  expect(new Set(thread.turns.map((turn) => turn.runId))).toEqual(new Set(started));
  expect(runningTurn(thread)).toBeUndefined();
});

test.each(streams)("every word of a good stream is on the page: $name", ({ events }) => {
  const page = told(fold(events)).join("\n");
  for (const event of events) {
    if (event.type === "TEXT_MESSAGE_CONTENT" || event.type === "TEXT_MESSAGE_CHUNK") {
      expect(page).toContain(event.delta ?? "");
    }
  }
});

test.each([...wrongStreams, ...houseStreams])("a wrong stream breaks nothing: $name", ({ events }) => {
  expect(() => fold(events)).not.toThrow();
});

const RUN = "run_1";
const at = (seq: number, event: Record<string, unknown>): Record<string, unknown> => ({
  ...event,
  timestamp: seq * 1000,
  metadata: { run: RUN, seq },
});
const begun = [
  at(1, {
    type: "RUN_STARTED",
    threadId: "thr_1",
    runId: RUN,
    input: { threadId: "thr_1", runId: RUN, messages: [{ id: "u1", role: "user", content: "hello" }] },
  }),
  at(2, { type: "STEP_STARTED", stepName: "step-1" }),
];
const says = (seq: number, delta: string) => at(seq, { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta });

test("what was asked is the run's, once", () => {
  const thread = fold(begun);
  expect(thread.turns.map((turn) => turn.asked.map((asked) => asked.content))).toEqual([["hello"]]);
  expect(thread.turns[0]).toMatchObject({ status: "running", step: 1, startedAt: 1000 });
});

test("a rewind takes back what came after it, and the same ids are said again", () => {
  const thread = fold([
    ...begun,
    says(3, "Half a sen"),
    at(4, {
      type: "CUSTOM",
      name: "agio.error",
      value: { code: "stream_broken", message: "It broke.", retry_in_ms: 500 },
    }),
    at(5, { type: "CUSTOM", name: "agio.rewind", value: { to_seq: 2 } }),
    says(6, "A whole"),
    says(7, " sentence."),
  ]);
  expect(told(thread)).toEqual(["text A whole sentence."]);
  expect(thread.turns[0]?.step).toBe(1);
});

test("a result that was discarded is asked for again", () => {
  const call = [
    at(3, { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "clock" }),
    at(4, { type: "TOOL_CALL_END", toolCallId: "c1" }),
  ];
  const result = at(5, { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "noon" });
  const rewind = at(6, { type: "CUSTOM", name: "agio.rewind", value: { to_seq: 4 } });
  expect(told(fold([...begun, ...call, result]))).toEqual(["call clock() = noon"]);
  expect(told(fold([...begun, ...call, result, rewind]))).toEqual(["call clock() = ?"]);
});

test("a call knows how long it took and how it failed", () => {
  const thread = fold([
    ...begun,
    at(3, { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "div" }),
    at(4, { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"by":' }),
    at(5, { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "0}" }),
    at(6, { type: "TOOL_CALL_END", toolCallId: "c1" }),
    at(7, {
      type: "CUSTOM",
      name: "agio.tool_progress",
      value: { tool_call_id: "c1", message: "dividing", fraction: 0.5 },
    }),
    {
      type: "TOOL_CALL_RESULT",
      messageId: "r1",
      toolCallId: "c1",
      content: "division by zero",
      timestamp: 9000,
      metadata: { run: RUN, seq: 8, error: "tool_failed" },
    },
  ]);
  expect(thread.turns[0]?.parts[0]).toMatchObject({
    args: '{"by":0}',
    error: "tool_failed",
    startedAt: 6000,
    endedAt: 9000,
    progress: { message: "dividing", fraction: 0.5 },
  });
});

test("a question is open until the next run answers it, whose result joins the call", () => {
  const asks = fold([
    ...begun,
    at(3, { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "send" }),
    at(4, { type: "TOOL_CALL_END", toolCallId: "c1" }),
    at(5, {
      type: "RUN_FINISHED",
      threadId: "thr_1",
      runId: RUN,
      outcome: {
        type: "interrupt",
        interrupts: [{ id: "i1", reason: "approval", toolCallId: "c1", message: "Send it?" }],
      },
    }),
  ]);
  expect(openQuestions(asks)).toMatchObject([
    { id: "i1", callId: "c1", message: "Send it?", expiresAt: null },
  ]);
  const answered = fold(
    [
      {
        type: "RUN_STARTED",
        threadId: "thr_1",
        runId: "run_2",
        input: {
          threadId: "thr_1",
          runId: "run_2",
          resume: [
            {
              interruptId: "i1",
              status: "resolved",
              payload: { approved: true, editedArgs: { to: "Grace" } },
            },
          ],
        },
      },
      { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "sent" },
      { type: "RUN_FINISHED", threadId: "thr_1", runId: "run_2" },
    ],
    asks,
  );
  expect(openQuestions(answered)).toEqual([]);
  expect(told(answered)).toEqual(["call send() = sent"]);
  expect(answered.turns[0]?.parts[0]).toMatchObject({
    answer: { approved: true, reason: null, editedArgs: { to: "Grace" } },
  });
});

test("usage adds up by step while the run goes on, and its end has the whole", () => {
  const step = { scope: "step", input_tokens: 10, output_tokens: 5, cost: 0.5 };
  const metric = (seq: number, value: object) => at(seq, { type: "CUSTOM", name: "agio.metrics", value });
  const going = fold([...begun, metric(3, { ...step, step: 1 }), metric(4, { ...step, step: 2 })]);
  expect(going.turns[0]?.spent).toEqual({ inputTokens: 20, outputTokens: 10, cost: 1, partial: false });
  const stopped = fold([metric(5, { scope: "step", step: 3, usage_partial: true })], going);
  expect(stopped.turns[0]?.spent).toEqual({ inputTokens: 20, outputTokens: 10, cost: 1, partial: true });
  const ended = fold([metric(5, { ...step, scope: "run", steps: 2, run_ms: 900 })], going);
  expect(ended.turns[0]?.metrics).toMatchObject({ steps: 2, run_ms: 900 });
});

test("a run that starts goes before those that wait", () => {
  const waiting: Thread = {
    ...EMPTY,
    turns: [newTurn("run_9", "queued")],
  };
  const thread = fold([{ type: "RUN_STARTED", threadId: "thr_1", runId: "run_2" }], waiting);
  expect(thread.turns.map((turn) => turn.runId)).toEqual(["run_2", "run_9"]);
});

const starts = (runId: string, parent?: string, branch = true) => ({
  type: "RUN_STARTED",
  threadId: "thr_1",
  runId,
  metadata: {
    run: runId,
    seq: 1,
    ...(parent ? { parent: { run: parent, seq: 2 } } : {}),
    ...(branch && { branch }),
  },
});
const runsOf = (thread: Thread) => thread.turns.map((turn) => turn.runId);

test("a branch drops what came after the run it continues, and keeps what waits", () => {
  const turns = [newTurn("run_1"), newTurn("run_2"), newTurn("run_3"), newTurn("run_9", "queued")];
  const thread: Thread = { ...EMPTY, turns, leaf: "run_3" };
  expect(runsOf(fold([starts("run_4", "run_1")], thread))).toEqual(["run_1", "run_4", "run_9"]);
  expect(runsOf(fold([starts("run_4")], thread))).toEqual(["run_4", "run_9"]);
  expect(runsOf(fold([starts("run_9", "run_1")], thread))).toEqual(["run_1", "run_9"]);
});

test("a run that continues what is not here makes the thread be read again, once", () => {
  const thread: Thread = { ...EMPTY, turns: [newTurn("run_3")], leaf: "run_3" };
  for (const branch of [true, false]) {
    const lost = fold([starts("run_5", "run_2", branch)], thread);
    expect(lost).toMatchObject({ lost: true, leaf: "run_5" });
    expect(runsOf(lost)).toEqual(branch ? ["run_5"] : ["run_3", "run_5"]);
  }
  const readAgain = { ...thread, turns: [newTurn("run_2"), newTurn("run_5")], leaf: "run_5" };
  expect(fold([starts("run_5", "run_1")], readAgain)).toMatchObject({ lost: false, turns: readAgain.turns });
});

test("the leaf may be a run without a turn", () => {
  const thread: Thread = { ...EMPTY, turns: [newTurn("run_1")], leaf: "run_2" };
  expect(fold([starts("run_3", "run_2", false)], thread)).toMatchObject({ lost: false, leaf: "run_3" });
});

test("only what changed is a new object", () => {
  const two = fold([
    ...begun,
    says(3, "first"),
    at(4, { type: "RUN_FINISHED", threadId: "thr_1", runId: RUN }),
    { type: "RUN_STARTED", threadId: "thr_1", runId: "run_2", metadata: { run: "run_2", seq: 1 } },
  ]);
  const more = fold(
    [{ type: "TEXT_MESSAGE_CHUNK", messageId: "m2", delta: "x", metadata: { run: "run_2", seq: 2 } }],
    two,
  );
  expect(more.turns[0]).toBe(two.turns[0]);
  expect(more.turns[1]).not.toBe(two.turns[1]);
});

const streamOf = (name: string) => streams.find((stream) => stream.name === name)?.events ?? [];

test("a sub-agent's turn that is taken again takes back its own words alone", () => {
  const events = streamOf("sub-agents side by side, one of which is asked again");
  const rewind = events.findIndex((event) => event.type === "CUSTOM" && event.name === "agio.rewind");
  const said = (count: number) => told(fold(events.slice(0, count))).filter((word) => word.includes("text"));
  expect(said(rewind)).toEqual(["  text It", "  text Sev"]);
  expect(said(rewind + 1)).toEqual(["  text Sev"]);
});

test("a sub-agent's turn that is taken again leaves what the agent itself says", () => {
  const thread = fold([
    ...begun,
    at(3, { type: "SUBAGENT_STARTED", subagentRunId: "sub_1", name: "helper" }),
    at(4, { type: "TEXT_MESSAGE_CHUNK", messageId: "m2", delta: "Inside.", subagentRunId: "sub_1" }),
    says(5, "Outside."),
    at(6, { type: "CUSTOM", name: "agio.rewind", value: { to_seq: 2 } }),
  ]);
  expect(told(thread)).toEqual(["subagent helper running", "  text Inside."]);
  const inside = at(7, { type: "CUSTOM", name: "agio.rewind", value: { to_seq: 3 }, subagentRunId: "sub_1" });
  expect(told(fold([says(6, "Again."), inside], { ...thread, pos: 5 }))).toEqual([
    "subagent helper running",
    "text Again.",
  ]);
});

test("a call inside a sub-agent is asked about and answered like the agent's own", () => {
  const events = streamOf("a sub-agent's question, answered in the next run");
  const asking = fold(events.slice(0, 1 + events.findIndex((event) => event.type === "RUN_FINISHED")));
  const [question, ...others] = openQuestions(asking);
  const callIn = ({ turns }: Thread) => findCall(turns[0]?.parts ?? [], question?.callId ?? "");
  expect(others).toEqual([]);
  expect(question).toMatchObject({ id: "int_1_2_0", message: "left wants to run add" });
  expect(asking.turns[0]?.parts).toContainEqual(
    expect.objectContaining({ kind: "subagent", status: "waiting" }),
  );
  expect(callIn(asking)).toMatchObject({ name: "add", answer: null, result: null });
  const rejected = noteAnswer(asking, question?.callId, { approved: false, reason: "No sums." });
  expect(callIn(rejected)?.answer).toMatchObject({ approved: false, reason: "No sums." });
  const whole = fold(events);
  expect(callIn(whole)).toMatchObject({ answer: { approved: true }, result: "3" });
  expect(whole.turns[0]?.parts).toContainEqual(
    expect.objectContaining({ kind: "subagent", status: "completed" }),
  );
});

const stored = (id: string, pos: number | null = null) =>
  ({
    ...{ id, run_id: RUN, role: "user", created_at: 5, pos },
    message: { id, role: "user", content: id },
  }) as const;
const known = new Map([[RUN, { id: RUN, status: "running" as const, started_at: 1, ended_at: null }]]);
const opened: Thread = { ...EMPTY, turns: turnsOf([stored("u1", 1), stored("u2"), stored("u3")], known) };
const joins = (seq: number, id: string) =>
  at(seq, {
    type: "CUSTOM",
    name: "agio.input",
    value: { idx: seq, message: { id, role: "user", content: id } },
  });

test("a page opened during a run shows which messages wait to join it, and where they joined", () => {
  const idsOf = ({ turns }: Thread) =>
    turns.map((turn) => [saidIn(turn), turn.joining].map((all) => all.map(({ id }) => id)));
  const running = fold([...begun, says(3, "Well.")], opened);
  expect(idsOf(running)).toEqual([[["u1"], ["u2", "u3"]]]);
  const taken = fold([joins(4, "u2"), says(5, "Then")], running);
  expect(idsOf(taken)).toEqual([[["u1", "u2"], ["u3"]]]);
  expect(taken.turns[0]?.parts.map(({ kind }) => kind)).toEqual(["text", "input"]);
  const next = {
    ...{ type: "RUN_STARTED", threadId: "thr_1", runId: "run_2", metadata: { run: "run_2", seq: 1 } },
    input: { threadId: "thr_1", runId: "run_2", messages: [{ id: "u3", role: "user", content: "u3" }] },
  };
  const over = fold([at(6, { type: "RUN_FINISHED", threadId: "thr_1", runId: RUN }), next], taken);
  expect(idsOf(over)).toEqual([
    [["u1", "u2"], []],
    [["u3"], []],
  ]);
});
