/** One conversation as it is followed: its newest messages, then its events as they come, a frame's worth at a time. */
import { api, data } from "@/api/client";
import { Problem, problemOf } from "@/api/problem";
import type { InterruptView, Runs, SessionStatus, SessionWithMessages } from "@/protocol/api";
import type { Event } from "@/protocol/events";
import { foldEvents, noteAnswer } from "@/state/fold";
import {
  type KnownRun,
  prependTurns,
  type Strays,
  turnsOf,
  withAnswers,
  withPending,
  withQuestions,
} from "@/state/history";
import { EMPTY, type Thread } from "@/state/thread";
import { backoffMs } from "./backoff";
import type { Feed } from "./feed";

export interface Stream {
  thread: Thread;
  /** loading: its messages are on their way; live: it is followed; gone: it was deleted; failed: see `problem`. */
  phase: "loading" | "live" | "gone" | "failed";
  online: boolean;
  problem: Problem | null;
  /** Whether there are older messages than those here. */
  older: boolean;
  loadingOlder: boolean;
}

const PAGE = 100;
const ANSWERS_SHOWN = 10;
const FLUSH_MS = 28;
const HIDDEN_MS = 100;
const BEGIN: Stream = {
  thread: EMPTY,
  phase: "loading",
  online: true,
  problem: null,
  older: false,
  loadingOlder: false,
};

export class SessionStream {
  readonly sessionId: string;
  private stream: Stream = BEGIN;
  private readonly feed: Feed;
  private readonly watchers = new Set<() => void>();
  private readonly came: { first: number; events: Event[] }[] = [];
  private flushing = false;
  private flushedAt = 0;
  private previous: string | null = null;
  private readonly strays: Strays = new Map();
  private unfollow: (() => void) | undefined;
  private started = false;
  /** Counts its beginnings: an answer to a question of an earlier one comes too late. */
  private life = 0;
  private again: ReturnType<typeof setTimeout> | undefined;

  constructor(sessionId: string, feed: Feed) {
    this.sessionId = sessionId;
    this.feed = feed;
  }

  /** For `useSyncExternalStore`: follows the session while there is a subscriber. */
  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    if (!this.started) this.start();
    return () => {
      this.watchers.delete(watcher);
      if (this.watchers.size === 0) this.stop();
    };
  };

  get = (): Stream => this.stream;

  /** Reads the page of messages before the oldest one here. */
  loadOlder = async (): Promise<void> => {
    if (this.previous === null || this.stream.loadingOlder) return;
    this.change({ loadingOlder: true, problem: null });
    const life = this.life;
    try {
      const page = await this.read({ before: this.previous });
      const runs = await this.runsOf(page);
      const questions = await this.questionsOf(page, runs);
      if (!this.goesOn(life)) return;
      this.previous = page.previous;
      const older = turnsOf(page.messages, runs, this.strays).map((turn) => withAnswers(turn, questions));
      const thread = prependTurns(this.stream.thread, older); // as it is now: events came meanwhile
      this.change({ thread, older: page.previous !== null, loadingOlder: false });
      void this.tellAnswers(questions);
    } catch (thrown) {
      if (this.goesOn(life)) this.change({ loadingOlder: false, problem: problemOf(thrown) });
    }
  };

  private start(): void {
    this.started = true;
    this.life += 1;
    void this.load(0);
  }

  private stop(): void {
    this.started = false;
    this.stopFollowing();
    this.previous = null;
    this.stream = BEGIN;
  }

  private stopFollowing(): void {
    clearTimeout(this.again);
    this.unfollow?.();
    this.unfollow = undefined;
    this.came.length = 0;
    this.strays.clear();
  }

  private goesOn(life: number): boolean {
    return this.started && this.life === life;
  }

  /** Reads the conversation again, as another branch may be chosen now. What is shown stays until it is there. */
  reload = async (): Promise<void> => {
    if (!this.started) return;
    this.stopFollowing();
    this.life += 1;
    this.change({ loadingOlder: false });
    await this.load(0);
  };

  private async load(tries: number): Promise<void> {
    const { life } = this;
    try {
      const page = await this.read({ tail: true });
      const [runs, running] = await Promise.all([this.runsOf(page), this.statusOf(page)]);
      const questions = await this.questionsOf(page, runs);
      if (!this.goesOn(life)) return;
      this.previous = page.previous;
      const after = page.stream_after ?? page.last_pos;
      this.change({
        thread: {
          turns: turnsOf(page.messages, runs, this.strays)
            .map((turn) => withPending(turn, page.pending))
            .map((turn) => withAnswers(withQuestions(turn, questions), questions))
            .map((turn) => (turn.runId === running?.run_id ? { ...turn, step: running.step } : turn)),
          pos: after,
          leaf: page.shown_leaf,
          lost: false,
        },
        phase: "live",
        problem: null,
        older: page.previous !== null,
      });
      this.follow(after);
      void this.tellAnswers(questions);
    } catch (thrown) {
      if (!this.goesOn(life)) return;
      const problem = problemOf(thrown);
      if (problem.code === "session_not_found") this.change({ phase: "gone", problem });
      else if (problem.code === "offline" || problem.status >= 500) {
        this.change({ online: false, problem });
        this.again = setTimeout(() => void this.load(tries + 1), backoffMs(tries));
      } else this.change({ phase: "failed", problem });
    }
  }

  private follow(after: number): void {
    this.unfollow = this.feed.follow(this.sessionId, after, {
      events: (first, events) => {
        this.came.push({ first, events });
        if (!this.flushing) this.flushSoon();
      },
      deleted: () =>
        this.change({ phase: "gone", problem: new Problem("session_not_found", "This chat was deleted.") }),
      failed: (problem) => this.change({ phase: "failed", problem }),
      online: (online) => this.change({ online }),
    });
  }

  /** Folds the events in batches, thirty times a second: faster than anyone reads. */
  private flushSoon(): void {
    this.flushing = true;
    nextFrame((now) => {
      if (now - this.flushedAt < FLUSH_MS) {
        this.flushSoon();
        return;
      }
      this.flushedAt = now;
      this.flushing = false;
      if (!this.started) return;
      const batches = this.came.splice(0);
      const thread = batches.reduce(
        (folded, { first, events }) => foldEvents(folded, first, events),
        this.stream.thread,
      );
      this.change({ thread });
      if (thread.lost) void this.reload();
    });
  }

  private read(query: { tail?: boolean; before?: string }): Promise<SessionWithMessages> {
    const path = { session_id: this.sessionId };
    return data(
      api.GET("/api/agent-sessions/{session_id}", { params: { path, query: { ...query, limit: PAGE } } }),
    );
  }

  /** The runs of a page's messages. Runs of other branches may lie between them, so more than a page is read. */
  private async runsOf(page: SessionWithMessages): Promise<Map<string, KnownRun>> {
    const wanted = new Set(page.messages.map((view) => view.run_id));
    const found = new Map<string, KnownRun>();
    const isNewest = page.next === null && !page.branched;
    const until = isNewest ? 0 : 1 + Math.max(0, ...page.messages.map((view) => view.created_at));
    let after: string | null = null;
    while (wanted.size > 0) {
      const place = { ...(until ? { until } : {}), ...(after ? { after } : {}) };
      const query = { session_id: this.sessionId, limit: PAGE, ...place };
      const runs: Runs = await data(api.GET("/api/runs", { params: { query } }));
      for (const run of runs.items) if (wanted.delete(run.id)) found.set(run.id, run);
      after = runs.next;
      if (after === null) break;
    }
    return found;
  }

  /** What a page's runs asked a person, if any did. */
  private async questionsOf(
    page: SessionWithMessages,
    runs: ReadonlyMap<string, KnownRun>,
  ): Promise<InterruptView[]> {
    const asked = page.messages.some((view) => runs.get(view.run_id)?.status === "interrupted");
    if (!asked && page.state !== "waiting") return [];
    const path = { session_id: this.sessionId };
    return (await data(api.GET("/api/agent-sessions/{session_id}/interrupts", { params: { path } }))).items;
  }

  /** How far a run in progress is: its steps so far are not among the events that follow. */
  private async statusOf(page: SessionWithMessages): Promise<SessionStatus | null> {
    if (page.state !== "running") return null;
    const path = { session_id: this.sessionId };
    return data(api.GET("/api/agent-sessions/{session_id}/status", { params: { path } }));
  }

  /** Reads what people said to questions, arguments they changed above all: it begins the run that followed. */
  private async tellAnswers(asked: readonly InterruptView[]): Promise<void> {
    const { life } = this;
    const answered = new Map(asked.flatMap((one) => (one.state === "resolved" ? [[one.id, one]] : [])));
    const asking = new Set(asked.map((one) => one.run_id));
    const { turns } = this.stream.thread;
    const following = turns.flatMap((turn, at) =>
      asking.has(turn.runId) ? (turns[at + 1]?.runId ?? []) : [],
    );
    for (const runId of following.slice(-ANSWERS_SHOWN)) {
      const event = await firstEvent(runId).catch(() => undefined);
      if (!this.goesOn(life) || event?.type !== "RUN_STARTED") continue;
      const thread = (event.input?.resume ?? []).reduce((shown, { interruptId, payload }) => {
        const one = answered.get(interruptId);
        return noteAnswer(shown, one?.tool_call_id, payload, one?.reason === "input_required");
      }, this.stream.thread);
      this.change({ thread });
    }
  }

  private change(changes: Partial<Stream>): void {
    this.stream = { ...this.stream, ...changes };
    for (const watcher of this.watchers) watcher();
  }
}

/** The event a run began with, without the rest of its log. */
async function firstEvent(runId: string): Promise<Event | undefined> {
  const stop = new AbortController();
  const response = await fetch(`/api/runs/${encodeURIComponent(runId)}/events`, { signal: stop.signal });
  const reader = response.body
    ?.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let text = "";
  while (reader && !text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  stop.abort();
  return response.ok ? parseEvent(text.split("\n")[0] ?? "") : undefined;
}

function parseEvent(line: string): Event | undefined {
  try {
    return JSON.parse(line) as Event;
  } catch {
    return undefined;
  }
}

/** A hidden page has no frames; it still reads along. */
function nextFrame(call: (now: number) => void): void {
  if (document.visibilityState === "visible") requestAnimationFrame(call);
  else setTimeout(() => call(performance.now()), HIDDEN_MS);
}
