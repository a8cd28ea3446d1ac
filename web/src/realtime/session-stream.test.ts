// @vitest-environment happy-dom
/** A conversation that is opened in the middle of things: what its first page and its older ones must not lose. */
import { expect, test, vi } from "vitest";
import type { Event } from "@/protocol/events";
import type { Feed, FeedListener } from "./feed";
import { SessionStream } from "./session-stream";

const PATIENT = { timeout: 30_000 };
const SESSION = {
  ...{ id: "ses_1", state: "idle", pending: [] },
  ...{ last_pos: 4, stream_after: 4, next: null, previous: null },
};
const message = (id: string, run: string, role: string, content: string) => ({
  id,
  run_id: run,
  role,
  created_at: 1,
  pos: 1,
  message: { id, role, content },
});
const run = (id: string, status: string) => ({ id, status, started_at: 1, ended_at: 2, error_code: null });

/** A server that answers by path; what is not listed is an empty list. */
function network(answers: Record<string, () => unknown>): URL[] {
  const asked: URL[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (request) => {
    const url = new URL((request as Request).url, "http://test");
    asked.push(url);
    const key = Object.keys(answers).find((part) => `${url.pathname}${url.search}`.includes(part));
    return Response.json((await answers[key ?? ""]?.()) ?? { items: [], next: null });
  });
  return asked;
}

/** A feed whose events the test says. */
function feed(): Feed & { say: FeedListener["events"] } {
  let listener: FeedListener | undefined;
  return {
    follow: (_session, _after, given) => {
      listener = given;
      return () => undefined;
    },
    say: (first, events) => listener?.events(first, events),
  };
}

const chunk = (delta: string, seq: number): Event =>
  ({ type: "TEXT_MESSAGE_CHUNK", messageId: "m9", delta, metadata: { run: "run_2", seq } }) as Event;

test("events that come while an older page is read are not lost", async () => {
  const waiting: ((answer: unknown) => void)[] = [];
  let first = true;
  network({
    "tail=true": () => ({ ...SESSION, previous: "p", messages: [message("u2", "run_2", "user", "two")] }),
    "before=p": () => ({ ...SESSION, messages: [message("u1", "run_1", "user", "one")] }),
    "/api/runs": () => {
      if (!first) return new Promise((resolve) => waiting.push(resolve));
      first = false;
      return { items: [run("run_2", "running")], next: null };
    },
  });
  const source = feed();
  const stream = new SessionStream("ses_1", source);
  const stop = stream.watch(() => undefined);
  await vi.waitFor(() => expect(stream.get().phase).toBe("live"), PATIENT);
  const loading = stream.loadOlder();
  await vi.waitFor(() => expect(waiting).toHaveLength(1), PATIENT);
  source.say(5, [chunk("all ", 2), chunk("here", 3)]);
  await vi.waitFor(() => expect(stream.get().thread.pos).toBe(6), PATIENT);
  waiting[0]?.({ items: [run("run_1", "completed")], next: null });
  await loading;
  const { thread } = stream.get();
  expect(thread.turns.map((turn) => turn.runId)).toEqual(["run_1", "run_2"]);
  expect(thread.turns[1]?.parts).toMatchObject([{ kind: "text", text: "all here" }]);
  stop();
});

test("a chat that waits for an answer has its questions when it is opened again", async () => {
  const question = {
    id: "int_1",
    run_id: "run_1",
    tool_call_id: "call_1",
    message: "Send it?",
    expires_at: 9,
  };
  network({
    "tail=true": () => ({ ...SESSION, state: "waiting", messages: [message("u1", "run_1", "user", "go")] }),
    "/interrupts": () => ({
      items: [
        { ...question, state: "open" },
        { ...question, id: "int_0", state: "resolved" },
      ],
    }),
    "/api/runs": () => ({ items: [run("run_1", "interrupted")], next: null }),
  });
  const stream = new SessionStream("ses_1", feed());
  const stop = stream.watch(() => undefined);
  await vi.waitFor(() => expect(stream.get().phase).toBe("live"), PATIENT);
  expect(stream.get().thread.turns[0]).toMatchObject({
    status: "interrupted",
    questions: [{ id: "int_1", callId: "call_1", message: "Send it?", expiresAt: 9 }],
  });
  stop();
});

test("a run that is joined late says which step it is in, and one that failed says why", async () => {
  network({
    "tail=true": () => ({
      ...SESSION,
      state: "running",
      messages: [message("u1", "run_1", "user", "one"), message("u2", "run_2", "user", "two")],
    }),
    "/status": () => ({ run_id: "run_2", step: 3 }),
    "/api/runs": () => ({
      items: [
        run("run_2", "running"),
        { ...run("run_1", "failed"), error_code: "demo_failure", error_message: "As asked." },
      ],
      next: null,
    }),
  });
  const stream = new SessionStream("ses_1", feed());
  const stop = stream.watch(() => undefined);
  await vi.waitFor(() => expect(stream.get().phase).toBe("live"), PATIENT);
  expect(stream.get().thread.turns).toMatchObject([
    { status: "failed", error: { code: "demo_failure", message: "As asked." } },
    { status: "running", step: 3 },
  ]);
  stop();
});

test("a chat is read again when a run begins on a branch that is not here, and what came meanwhile follows", async () => {
  const page = (run_id: string, stream_after: number) => ({
    ...SESSION,
    stream_after,
    shown_leaf: run_id,
    messages: [message(`u ${run_id}`, run_id, "user", "go")],
  });
  const pages = [page("run_1", 4), page("run_5", 5)];
  network({ "tail=true": () => pages.shift() });
  const source = feed();
  const stream = new SessionStream("ses_1", source);
  const stop = stream.watch(() => undefined);
  await vi.waitFor(() => expect(stream.get().phase).toBe("live"), PATIENT);
  const metadata = { run: "run_5", seq: 1, parent: { run: "run_3", seq: 9 }, branch: true };
  source.say(5, [{ type: "RUN_STARTED", threadId: "ses_1", runId: "run_5", metadata } as Event]);
  await vi.waitFor(() => expect(stream.get().thread).toMatchObject({ leaf: "run_5", lost: false }), PATIENT);
  expect(stream.get().thread.turns[0]?.asked[0]?.id).toBe("u run_5");
  expect(pages).toEqual([]);
  stop();
});

test("an older page that was asked for before one left and came back is not put into the new beginning", async () => {
  const waiting: ((answer: unknown) => void)[] = [];
  network({
    "tail=true": () => ({ ...SESSION, previous: "p", messages: [message("u2", "run_2", "user", "two")] }),
    "before=p": () => new Promise((resolve) => waiting.push(resolve)),
  });
  const stream = new SessionStream("ses_1", feed());
  const leave = stream.watch(() => undefined);
  await vi.waitFor(() => expect(stream.get().phase).toBe("live"), PATIENT);
  const older = stream.loadOlder();
  await vi.waitFor(() => expect(waiting).toHaveLength(1), PATIENT);
  leave();
  const stop = stream.watch(() => undefined);
  await vi.waitFor(() => expect(stream.get().phase).toBe("live"), PATIENT);
  waiting[0]?.({ ...SESSION, messages: [message("u1", "run_1", "user", "one")] });
  await older;
  expect(stream.get().thread.turns.map((turn) => turn.runId)).toEqual(["run_2"]);
  expect(stream.get().older).toBe(true);
  stop();
});
