// @vitest-environment happy-dom
/** Messages on their way: in order, once, kept over a break and a reload. */
import { beforeEach, expect, test, vi } from "vitest";
import { Problem } from "@/api/problem";
import type { Ack, Command } from "@/protocol/commands";
import { Outbox } from "./outbox";
import type { Socket } from "./socket";

type Message = Extract<Command, { type: "message" }>;

/** The seam to the server: what is sent is kept until the test answers it. */
class HandLine {
  state = "online";
  sent: { message: Message; resolve: (ack: Ack) => void; reject: (problem: Problem) => void }[] = [];
  private watcher: () => void = () => undefined;

  watch = (watcher: () => void) => {
    this.watcher = watcher;
    return () => undefined;
  };

  command = (message: Message) => {
    if (this.state !== "online") return Promise.reject(new Problem("offline", "No connection."));
    return new Promise<Ack>((resolve, reject) => this.sent.push({ message, resolve, reject }));
  };

  become(state: string) {
    this.state = state;
    this.watcher();
  }
}

const PATIENT = { timeout: 30_000 };
const settled = () => vi.waitFor(() => Promise.resolve());
const open = (line: HandLine) => new Outbox(line as unknown as Socket);
const words = (line: HandLine) => line.sent.map(({ message }) => message.content);

beforeEach(() => sessionStorage.clear());

test("messages go out one after the other, in the order they were written", async () => {
  const line = new HandLine();
  const outbox = open(line);
  outbox.put("ses_1", "first");
  outbox.put("ses_1", "second");
  expect(words(line)).toEqual(["first"]);
  line.sent[0]?.resolve({ type: "ack", id: "c1", message_id: "msg_1", run_id: "run_1" });
  await vi.waitFor(() => expect(words(line)).toEqual(["first", "second"]), PATIENT);
});

test("a message for the answer being written says so, also when it is sent again", async () => {
  const line = new HandLine();
  open(line).put("ses_1", "now", true);
  open(line);
  expect(line.sent.map(({ message }) => message.on_busy)).toEqual(["steer", "steer"]);
});

test("one that was on its way when the connection broke is sent again under the same name", async () => {
  const line = new HandLine();
  const outbox = open(line);
  outbox.put("ses_1", "hello");
  line.state = "offline";
  line.sent[0]?.reject(new Problem("offline", "It broke."));
  await settled();
  line.become("online");
  await vi.waitFor(() => expect(line.sent).toHaveLength(2), PATIENT);
  expect(line.sent[1]?.message.client_message_id).toBe(line.sent[0]?.message.client_message_id);
});

test("a reload loses nothing that was not sent", () => {
  const away = new HandLine();
  away.state = "offline";
  open(away).put("ses_1", "kept");
  const line = new HandLine();
  open(line);
  expect(words(line)).toEqual(["kept"]);
});

test("a refused message waits for a person, and those behind it wait too", async () => {
  const line = new HandLine();
  const outbox = open(line);
  const first = outbox.put("ses_1", "too large");
  outbox.put("ses_1", "after it");
  line.sent[0]?.reject(new Problem("message_too_large", "Too large."));
  await vi.waitFor(() => expect(outbox.get()[0]?.problem?.code).toBe("message_too_large"), PATIENT);
  expect(words(line)).toEqual(["too large"]);
  outbox.remove(first.key);
  await vi.waitFor(() => expect(words(line)).toEqual(["too large", "after it"]), PATIENT);
});

test("what the conversation shows is forgotten", async () => {
  const line = new HandLine();
  const outbox = open(line);
  outbox.put("ses_1", "hello");
  line.sent[0]?.resolve({ type: "ack", id: "c1", message_id: "msg_1", run_id: "run_1" });
  await vi.waitFor(() => expect(outbox.get()[0]?.messageId).toBe("msg_1"), PATIENT);
  outbox.shown(new Set(["msg_1"]));
  expect(outbox.get()).toEqual([]);
});

test("one that comes too fast for the server is sent again by itself", async () => {
  vi.useFakeTimers();
  const line = new HandLine();
  const outbox = open(line);
  outbox.put("ses_1", "hello");
  line.sent[0]?.reject(new Problem("rate_limited", "Too many messages: try again in 1 s."));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(line.sent).toHaveLength(2);
  expect(outbox.get()[0]?.problem).toBeNull();
  vi.useRealTimers();
});
