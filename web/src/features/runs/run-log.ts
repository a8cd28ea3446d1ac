/** A run's log: the events so far, then new ones while the run is in progress. */
import { refusalOf } from "@/api/client";
import { Problem, problemOf } from "@/api/problem";
import type { Event } from "@/protocol/events";
import { readLines } from "./ndjson";

export interface LogState {
  events: Event[];
  /** loading: more of what is there is on its way; ready: all of it is here; failed: see `problem`. */
  phase: "loading" | "ready" | "failed";
  problem: Problem | null;
}

const BEGIN: LogState = { events: [], phase: "loading", problem: null };
const FOLLOW_MS = 1_000;
const SHOW_MS = 250;

export class RunLog {
  readonly runId: string;
  private state: LogState = BEGIN;
  private readonly watchers = new Set<() => void>();
  private reading: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private came: Event[] = [];
  private shownAt = 0;

  constructor(runId: string) {
    this.runId = runId;
  }

  /** For `useSyncExternalStore`: reads while there is a subscriber. */
  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    if (this.watchers.size === 1) void this.read();
    return () => {
      this.watchers.delete(watcher);
      if (this.watchers.size === 0) this.stop();
    };
  };

  get = (): LogState => this.state;

  /** Goes on where reading broke off. */
  retry = (): void => {
    this.show({ phase: "loading", problem: null });
    void this.read();
  };

  private stop(): void {
    this.reading?.abort();
    clearTimeout(this.timer);
    this.came = [];
  }

  private async read(): Promise<void> {
    this.stop();
    const reading = new AbortController();
    this.reading = reading;
    try {
      const after = this.state.events.length;
      const response = await fetch(`/api/runs/${encodeURIComponent(this.runId)}/events?after=${after}`, {
        signal: reading.signal,
      });
      if (!response.ok) throw await refusalOf(response);
      if (!response.body) throw new Problem("unreadable_log", "The server returned no log.");
      for await (const batch of readLines(response.body)) {
        if (reading.signal.aborted) return;
        this.take(batch as Event[]);
      }
    } catch (thrown) {
      if (reading.signal.aborted) return;
      this.show({ phase: "failed", problem: problemIn(thrown) });
      return;
    }
    if (reading.signal.aborted) return;
    this.show({ phase: "ready", problem: null });
    if (!hasEnded(this.state.events)) this.timer = setTimeout(() => void this.read(), FOLLOW_MS);
  }

  private take(batch: Event[]): void {
    this.came.push(...batch);
    if (performance.now() - this.shownAt > SHOW_MS) this.show({});
  }

  private show(change: Partial<LogState>): void {
    const events = this.came.length > 0 ? [...this.state.events, ...this.came] : this.state.events;
    this.came = [];
    this.shownAt = performance.now();
    const same = Object.entries(change).every(
      ([name, value]) => this.state[name as keyof LogState] === value,
    );
    if (same && events === this.state.events) return;
    this.state = { ...this.state, ...change, events };
    for (const watcher of this.watchers) watcher();
  }
}

/** Whether a log has its last event. */
function hasEnded(events: readonly Event[]): boolean {
  const last = events.at(-1)?.type;
  return last === "RUN_FINISHED" || last === "RUN_ERROR";
}

function problemIn(thrown: unknown): Problem {
  if (thrown instanceof SyntaxError)
    return new Problem("unreadable_log", "The log ended in the middle of an event.");
  return problemOf(thrown);
}
