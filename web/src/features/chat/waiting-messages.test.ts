import { expect, test } from "vitest";
import type { Outgoing } from "@/realtime/outbox";
import type { Asked } from "@/state/thread";
import { stillWaiting } from "./waiting-messages";

const item = (key: string, changes: Partial<Outgoing> = {}): Outgoing => ({
  key,
  sessionId: "ses_1",
  content: "hello",
  at: 0,
  problem: null,
  messageId: null,
  runId: null,
  ...changes,
});
const asked = (id: string, content = "hello"): Asked => ({ id, content, at: null });
const known = (...entries: [string, string[]][]) => new Map(entries.map(([key, ids]) => [key, new Set(ids)]));
const keysOf = (items: Outgoing[]) => items.map(({ key }) => key);

test("a message is shown as on its way until the thread has it", () => {
  const sent = item("a", { messageId: "m1" });
  expect(keysOf(stillWaiting([sent], [], known()))).toEqual(["a"]);
  expect(keysOf(stillWaiting([sent], [asked("m1")], known()))).toEqual([]);
});

test("one whose run began before the server said that it took it is not shown twice", () => {
  expect(keysOf(stillWaiting([item("a")], [asked("m1")], known(["a", []])))).toEqual([]);
});

test("the same words said before are another message", () => {
  expect(keysOf(stillWaiting([item("a")], [asked("m1")], known(["a", ["m1"]])))).toEqual(["a"]);
});

test("of the same words sent twice, each stands for one message", () => {
  const items = [item("a", { messageId: "m1" }), item("b")];
  const when = known(["a", []], ["b", []]);
  expect(keysOf(stillWaiting(items, [asked("m1")], when))).toEqual(["b"]);
  expect(keysOf(stillWaiting([item("a"), item("b")], [asked("m1")], when))).toEqual(["b"]);
});

test("a refused message stays until a person decides, whatever the thread says", () => {
  const refused = item("a", { problem: { code: "queue_full", message: "Full." } });
  expect(keysOf(stillWaiting([refused], [asked("m1")], known(["a", []])))).toEqual(["a"]);
});
