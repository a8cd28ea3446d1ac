/** A conversation that is opened in its middle ends as if it had been followed from its beginning. */
import { expect, test } from "vitest";
import type { MessageView } from "@/protocol/api";
import type { Event } from "@/protocol/events";
import { foldEvents } from "./fold";
import { prependTurns, turnsOf, withAnswers } from "./history";
import { EMPTY } from "./thread";

function view(runId: string, message: Record<string, unknown>, pos: number | null = 1): MessageView {
  return {
    id: message.id,
    run_id: runId,
    role: message.role,
    created_at: 5,
    pos,
    message,
  } as unknown as MessageView;
}

const asked = view("run_1", { id: "u1", role: "user", content: "What time is it?" });
const thought = view("run_1", { id: "t1", role: "reasoning", content: "A clock knows." });
const called = view("run_1", {
  id: "m1",
  role: "assistant",
  content: "Let me see.",
  toolCalls: [{ id: "c1", type: "function", function: { name: "clock", arguments: "{}" } }],
});
const answered = view("run_1", { id: "r1", role: "tool", toolCallId: "c1", content: "noon" });
const said = view("run_1", { id: "m2", role: "assistant", content: "Noon." });

test("messages of a run become one turn, with results in their calls", () => {
  const [turn, ...rest] = turnsOf([asked, thought, called, answered, said]);
  expect(rest).toEqual([]);
  expect(turn?.asked).toEqual([{ id: "u1", content: "What time is it?", at: 5 }]);
  expect(turn?.parts.map((part) => part.kind)).toEqual(["reasoning", "text", "call", "text"]);
  expect(turn?.parts[2]).toMatchObject({ name: "clock", asked: true, result: "noon" });
});

test("a run that is known says how it ended; one that waits is queued", () => {
  const runs = new Map([
    ["run_1", { id: "run_1", status: "failed" as const, started_at: 1, ended_at: 2, last_seq: 3 }],
  ]);
  const waiting = view("run_2", { id: "u2", role: "user", content: "And now?" }, null);
  expect(turnsOf([asked, waiting], runs).map((turn) => turn.status)).toEqual(["failed", "queued"]);
});

test("events of messages that are there already add nothing", () => {
  const thread = { ...EMPTY, turns: turnsOf([asked, called, answered, said]) };
  const again = [
    { type: "RUN_STARTED", threadId: "t", runId: "run_1", metadata: { run: "run_1", seq: 1 } },
    { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "Let me see.", metadata: { run: "run_1", seq: 2 } },
    { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "clock", metadata: { run: "run_1", seq: 3 } },
    { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "{}", metadata: { run: "run_1", seq: 4 } },
    {
      type: "TOOL_CALL_RESULT",
      messageId: "r1",
      toolCallId: "c1",
      content: "noon",
      metadata: { run: "run_1", seq: 5 },
    },
    { type: "TEXT_MESSAGE_CHUNK", messageId: "m2", delta: "Noon.", metadata: { run: "run_1", seq: 6 } },
  ] as unknown as Event[];
  const folded = foldEvents(thread, 1, again);
  expect(folded.turns[0]?.parts).toEqual(thread.turns[0]?.parts);
  expect(folded.turns[0]?.asked).toHaveLength(1);
});

test("an older page joins the run that lies on both, and results find their calls across pages", () => {
  const strays = new Map();
  const thread = { ...EMPTY, turns: turnsOf([answered, said], undefined, strays), pos: 9 };
  const joined = prependTurns(thread, turnsOf([asked, called], undefined, strays));
  expect(joined.turns[0]?.parts[1]).toMatchObject({ kind: "call", result: "noon" });
  expect(joined.turns).toHaveLength(1);
  expect(joined.turns[0]?.asked).toHaveLength(1);
  expect(joined.pos).toBe(9);
});

test("a page that begins within a run shows a sub-agent that is on both once, and what joined the run in its place", () => {
  const inside = (message: Record<string, unknown>) =>
    view("run_1", { ...message, subagentRunId: "sub_1_1" });
  const calls = view("run_1", {
    id: "m3",
    role: "assistant",
    toolCalls: [{ id: "call_1_1", type: "function", function: { name: "helper", arguments: "{}" } }],
  });
  const task = inside({ id: "msg_sub_1_1", role: "user", content: "Help.", name: "helper" });
  const helped = [
    inside({ id: "m4", role: "assistant", content: "Helping." }),
    view("run_1", { id: "r3", role: "tool", toolCallId: "call_1_1", content: "Helped." }),
  ];
  const added = view("run_1", { id: "u2", role: "user", content: "And?" });
  const whole = turnsOf([asked, calls, task, ...helped, added, said]);
  const pages = [[asked, calls, task], helped, [added], [said]];
  for (const at of [1, 2, 3]) {
    const strays = new Map();
    const thread = { ...EMPTY, turns: turnsOf(pages.slice(at).flat(), undefined, strays) };
    expect(prependTurns(thread, turnsOf(pages.slice(0, at).flat(), undefined, strays)).turns).toEqual(whole);
  }
  expect(whole[0]?.parts.map(({ kind }) => kind)).toEqual(["call", "subagent", "input", "text"]);
  expect(whole[0]?.parts[1]).toMatchObject({ name: "helper", task: "Help.", status: "completed" });
});

test("a call that a person was asked about tells after a reload what they said", () => {
  const refused = view("run_1", {
    id: "r1",
    role: "tool",
    toolCallId: "c1",
    content: "No.",
    error: "not_approved",
  });
  const open = {
    id: "int_1",
    session_id: "ses_1",
    tool: "clock",
    arguments: "{}",
    message: "",
    created_at: 1,
  };
  const question = {
    ...open,
    run_id: "run_1",
    tool_call_id: "c1",
    expires_at: 2,
    state: "resolved",
    reason: "tool_call",
    form: null,
    url: null,
  } as const;
  const answerTo = (messages: Parameters<typeof turnsOf>[0]) => {
    const call = turnsOf(messages)
      .map((turn) => withAnswers(turn, [question]))[0]
      ?.parts.find((part) => part.kind === "call");
    return call?.kind === "call" ? call.answer?.approved : undefined;
  };
  expect(answerTo([asked, called, answered])).toBe(true);
  expect(answerTo([asked, called, refused])).toBe(false);
  expect(answerTo([asked, called])).toBeUndefined();
});

test("system messages are parts of their own, and what the server told the model is none of the person's", () => {
  const [turn] = turnsOf([
    view("run_1", { id: "s1", role: "system", content: "Be brief." }),
    view("run_1", { id: "d1", role: "developer", content: "Use metres." }),
    asked,
    view("run_1", { id: "run_1_cat", role: "user", content: "Mine." }),
    said,
    view("run_1", { id: "run_1_c1", role: "user", content: "That is no JSON." }),
  ]);
  expect(turn?.asked.map(({ id }) => id)).toEqual(["u1", "run_1_cat"]);
  expect(turn?.parts.map((part) => [part.kind, part.id])).toEqual([
    ["system", "s1"],
    ["system", "d1"],
    ["text", "m2"],
    ["system", "run_1_c1"],
  ]);
});

test("what the server tells the model is the same in the stream as after a reload", () => {
  const at = (seq: number) => ({ metadata: { run: "run_1", seq } });
  const told = { code: "output_invalid", message: "no JSON", tell_model: "That is no JSON." };
  const events = [
    {
      type: "RUN_STARTED",
      threadId: "t",
      runId: "run_1",
      input: { messages: [{ id: "s1", role: "system", content: "Be brief." }] },
      ...at(1),
    },
    { type: "TEXT_MESSAGE_START", messageId: "x1", role: "developer", ...at(2) },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "x1", delta: "Use metres.", ...at(3) },
    { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "Hm.", ...at(4) },
    { type: "CUSTOM", name: "agio.error", value: told, ...at(5) },
    { type: "CUSTOM", name: "agio.error", value: told, ...at(6) },
  ] as unknown as Event[];
  const [turn] = foldEvents(EMPTY, 1, events).turns;
  const shown = turn?.parts.flatMap((part) => (part.kind === "system" ? [[part.id, part.text]] : []));
  expect(shown).toEqual([
    ["s1", "Be brief."],
    ["x1", "Use metres."],
    ["run_1_c1", "That is no JSON."],
    ["run_1_c2", "That is no JSON."],
  ]);
  expect(turn?.parts.filter((part) => part.kind === "text")).toHaveLength(1);
});
