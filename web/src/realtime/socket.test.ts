// @vitest-environment happy-dom
/** The socket, with the browser's end of the connection played by hand: it breaks, and nothing is lost or doubled. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Command, Heard } from "@/protocol/commands";
import type { Event } from "@/protocol/events";
import { Socket } from "./socket";

type Sent = Command & { id: string };

/** The browser's end of a connection, played by hand: what the page says is kept, what it hears is said. */
class HandSocket extends EventTarget {
  static all: HandSocket[] = [];
  readyState: number = WebSocket.CONNECTING;
  onopen: (() => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  sent: Sent[] = [];

  constructor() {
    super();
    HandSocket.all.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Sent);
  }

  close(): void {
    this.readyState = WebSocket.CLOSED;
  }

  accept(): void {
    this.readyState = WebSocket.OPEN;
    this.onopen?.();
  }

  say(heard: Heard): void {
    this.onmessage?.({ data: JSON.stringify(heard) });
  }

  break(code = 1006): void {
    this.readyState = WebSocket.CLOSED;
    this.onclose?.({ code });
  }
}

const newest = (): HandSocket => HandSocket.all.at(-1) as HandSocket;
const chunk = (delta: string): Event => ({ type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta });
const makeSocket = (mayReturn?: () => Promise<boolean>) =>
  new Socket({
    url: "ws://here/realtime",
    create: () => new HandSocket() as unknown as WebSocket,
    ...(mayReturn ? { mayReturn } : {}),
  });

function listener() {
  const heard: [number, string][] = [];
  return {
    heard,
    events: (first: number, events: Event[]) => {
      events.forEach((event, index) => {
        if (event.type === "TEXT_MESSAGE_CHUNK") heard.push([first + index, event.delta ?? ""]);
      });
    },
    deleted: vi.fn(),
    failed: vi.fn(),
    online: vi.fn(),
  };
}

beforeEach(() => {
  HandSocket.all = [];
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

test("after a break every session goes on after what was heard last, and nothing is heard twice", () => {
  const socket = makeSocket();
  const page = listener();
  socket.open();
  socket.follow("ses_1", 10, page);
  newest().accept();
  expect(newest().sent).toMatchObject([{ type: "subscribe", session_id: "ses_1", after: 10 }]);
  newest().say({ type: "events", session_id: "ses_1", pos: 11, events: [chunk("a"), chunk("b")] });
  newest().break();
  vi.advanceTimersByTime(20_000);
  expect(HandSocket.all).toHaveLength(2);
  newest().accept();
  expect(newest().sent).toMatchObject([{ type: "subscribe", session_id: "ses_1", after: 12 }]);
  newest().say({ type: "events", session_id: "ses_1", pos: 12, events: [chunk("b"), chunk("c")] });
  newest().say({ type: "events", session_id: "ses_1", pos: 12, events: [chunk("b")] });
  expect(page.heard).toEqual([
    [11, "a"],
    [12, "b"],
    [13, "c"],
  ]);
});

test("what is asked for without a connection is sent with the next one; if none comes it is refused", async () => {
  const stop: Command = { type: "cancel", session_id: "ses_1" };
  const socket = makeSocket();
  socket.open();
  const asked = socket.ask(stop);
  newest().accept();
  await vi.waitFor(() => expect(newest().sent).toMatchObject([stop]));
  newest().say({ type: "ack", id: newest().sent[0]?.id ?? "" });
  await expect(asked).resolves.toMatchObject({ type: "ack" });
  newest().break();
  const later = socket.ask(stop);
  vi.advanceTimersByTime(1_000);
  newest().accept();
  await vi.waitFor(() => expect(newest().sent).toMatchObject([stop]));
  newest().say({ type: "ack", id: newest().sent[0]?.id ?? "" });
  await expect(later).resolves.toMatchObject({ type: "ack" });
  newest().break();
  const refused = expect(socket.ask(stop)).rejects.toMatchObject({ code: "offline" });
  await vi.advanceTimersByTimeAsync(15_000);
  await refused;
  socket.close();
});

test("what is asked for by somebody who leaves before there is a connection is not sent", async () => {
  const socket = makeSocket();
  socket.open();
  const leaving = new AbortController();
  const refused = expect(
    socket.ask({ type: "cancel", session_id: "ses_1" }, leaving.signal),
  ).rejects.toMatchObject({
    code: "offline",
  });
  leaving.abort();
  await refused;
  newest().accept();
  expect(newest().sent).toEqual([]);
  socket.close();
});

test("what is left of an earlier subscription does not hide the events before it", async () => {
  const socket = makeSocket();
  const page = listener();
  socket.open();
  newest().accept();
  socket.follow("ses_1", 10, listener())();
  socket.follow("ses_1", 4, page);
  newest().say({ type: "events", session_id: "ses_1", pos: 11, events: [chunk("k")] });
  const [first, , second] = newest().sent.map((sent) => sent.id) as [string, string, string];
  newest().say({ type: "ack", id: first });
  newest().say({ type: "ack", id: second });
  newest().say({ type: "events", session_id: "ses_1", pos: 5, events: [chunk("e")] });
  expect(page.heard).toEqual([[5, "e"]]);
  await vi.advanceTimersByTimeAsync(0);
  newest().say({ type: "events", session_id: "ses_1", pos: 9, events: [chunk("i")] });
  expect(newest().sent.at(-1)).toMatchObject({ type: "subscribe", session_id: "ses_1", after: 5 });
  expect(page.heard).toEqual([[5, "e"]]);
});

test("it tries again and again, later each time, and at once when the network is back", () => {
  const socket = makeSocket();
  socket.open();
  for (let tries = 1; tries <= 6; tries++) {
    newest().break();
    vi.advanceTimersByTime(10_000);
    expect(HandSocket.all).toHaveLength(tries + 1);
  }
  newest().break();
  globalThis.dispatchEvent(new Event("online") as never);
  expect(HandSocket.all).toHaveLength(8);
  socket.close();
});

test("commands that were on their way when it broke are refused, so that whoever sent them knows", async () => {
  const socket = makeSocket();
  socket.open();
  newest().accept();
  const answer = socket.command({ type: "cancel", session_id: "ses_1" });
  newest().break();
  await expect(answer).rejects.toMatchObject({ code: "offline" });
  await expect(socket.command({ type: "ping" })).rejects.toMatchObject({ code: "offline" });
});

test("an answer settles its own command, with the server's code when it is refused", async () => {
  const socket = makeSocket();
  socket.open();
  newest().accept();
  const first = socket.command({ type: "message", session_id: "ses_1", content: "a" });
  const second = socket.command({ type: "message", session_id: "ses_2", content: "b" });
  const [one, two] = newest().sent.map((sent) => sent.id) as [string, string];
  newest().say({ type: "error", id: two, error: { code: "session_not_found", message: "It is gone." } });
  newest().say({ type: "ack", id: one, run_id: "run_1" });
  await expect(first).resolves.toMatchObject({ run_id: "run_1" });
  await expect(second).rejects.toMatchObject({ code: "session_not_found", message: "It is gone." });
});

test("a server that does not answer is not waited for for ever", async () => {
  const socket = makeSocket();
  socket.open();
  newest().accept();
  const answer = expect(socket.command({ type: "ping" })).rejects.toMatchObject({ code: "no_answer" });
  vi.advanceTimersByTime(16_000);
  await answer;
});

test("a browser without a network makes sure of the connection, and does not wait long for the answer", async () => {
  const socket = makeSocket();
  socket.open();
  newest().accept();
  dispatchEvent(new globalThis.Event("offline"));
  expect(newest().sent).toMatchObject([{ type: "ping" }]);
  await vi.advanceTimersByTimeAsync(2_900);
  expect(socket.state).toBe("online");
  await vi.advanceTimersByTimeAsync(200);
  expect(socket.state).toBe("offline");
  socket.close();
});

test("a connection that died in silence is found by a ping, and made anew", async () => {
  const socket = makeSocket();
  socket.open();
  newest().accept();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(newest().sent).toMatchObject([{ type: "ping" }]);
  await vi.advanceTimersByTimeAsync(16_000);
  expect(HandSocket.all).toHaveLength(2);
  socket.close();
});

test("one who is turned away comes back only if they may", async () => {
  const mayReturn = vi.fn(async () => false);
  const socket = makeSocket(mayReturn);
  socket.open();
  newest().accept();
  newest().break(1008);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(mayReturn).toHaveBeenCalledOnce();
  expect([socket.state, HandSocket.all.length]).toEqual(["refused", 1]);
});

test("a session that is deleted is told to its readers, and followed no more", () => {
  const socket = makeSocket();
  const page = listener();
  socket.open();
  newest().accept();
  socket.follow("ses_1", 0, page);
  newest().say({ type: "deleted", session_id: "ses_1" });
  expect(page.deleted).toHaveBeenCalledOnce();
  newest().break();
  vi.advanceTimersByTime(20_000);
  newest().accept();
  expect(newest().sent).toEqual([]);
});

test("two readers of a session share it, and the server is told when the last one leaves", () => {
  const socket = makeSocket();
  const [one, two] = [listener(), listener()];
  socket.open();
  newest().accept();
  const leaveOne = socket.follow("ses_1", 5, one);
  const leaveTwo = socket.follow("ses_1", 5, two);
  newest().say({ type: "events", session_id: "ses_1", pos: 6, events: [chunk("x")] });
  expect([one.heard, two.heard]).toEqual([[[6, "x"]], [[6, "x"]]]);
  leaveOne();
  expect(newest().sent.map((sent) => sent.type)).toEqual(["subscribe"]);
  leaveTwo();
  expect(newest().sent.map((sent) => sent.type)).toEqual(["subscribe", "unsubscribe"]);
});
