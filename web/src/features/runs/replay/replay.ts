/** A run played again: when each event comes, and what there was to see after any of them. */
import { type Event, placeOf } from "@/protocol/events";
import { foldEvents } from "@/state/fold";
import { EMPTY, type Thread } from "@/state/thread";

const LONG_PAUSE_MS = 3_000;
const EVERY = 500;

/** The events as a page that knows only this run can show them: calls it has no beginning of get one. */
export function framesOf(events: readonly Event[], toolNames: ReadonlyMap<string, string>): Event[] {
  const known = new Set<string>();
  return events.flatMap((event): Event[] => {
    if (event.type === "TOOL_CALL_START") known.add(event.toolCallId);
    if (event.type === "TOOL_CALL_CHUNK" && event.toolCallId) known.add(event.toolCallId);
    if (event.type !== "TOOL_CALL_RESULT" || known.has(event.toolCallId)) return [event];
    known.add(event.toolCallId);
    const { toolCallId, timestamp, metadata } = event;
    const toolCallName = toolNames.get(toolCallId) ?? "tool";
    const place = placeOf(event) ? { metadata: metadata ?? {} } : {};
    const at = { ...(timestamp === undefined ? {} : { timestamp }), ...place };
    const start: Event = { type: "TOOL_CALL_START", toolCallId, toolCallName, ...at };
    return [start, { type: "TOOL_CALL_END", toolCallId, ...at }, event];
  });
}

/** When each event comes, from the first on. Pauses can be cut to a length that is bearable. */
export function timesOf(events: readonly Event[], shorten: boolean): number[] {
  let before: number | undefined;
  let at = 0;
  return events.map(({ timestamp }) => {
    if (timestamp !== undefined) {
      const pause = Math.max(0, timestamp - (before ?? timestamp));
      at += shorten ? Math.min(pause, LONG_PAUSE_MS) : pause;
      before = Math.max(before ?? timestamp, timestamp);
    }
    return at;
  });
}

/** How many events have come by a time. */
export function countAt(times: readonly number[], ms: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What there is to see after any number of events. Keeps what it folded every so often, so that going back is cheap. */
export class Film {
  private readonly frames: readonly Event[];
  private readonly kept: Thread[] = [EMPTY];
  private last: Thread = EMPTY;

  constructor(frames: readonly Event[]) {
    this.frames = frames;
  }

  after(count: number): Thread {
    const wanted = Math.max(0, Math.min(count, this.frames.length));
    const near = this.kept[Math.min(Math.floor(wanted / EVERY), this.kept.length - 1)] ?? EMPTY;
    let thread = this.last.pos <= wanted && this.last.pos >= near.pos ? this.last : near;
    while (thread.pos < wanted) {
      const next = Math.min(wanted, (Math.floor(thread.pos / EVERY) + 1) * EVERY);
      thread = foldEvents(thread, thread.pos + 1, this.frames.slice(thread.pos, next));
      if (next % EVERY === 0 && this.kept.length === next / EVERY) this.kept.push(thread);
    }
    this.last = thread;
    return thread;
  }
}
