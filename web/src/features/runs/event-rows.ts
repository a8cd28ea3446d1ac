/** The log as rows to read: pieces of one text folded into one row, each row with a line that says what it is. */
import { suggestedWords, summarisedWords } from "@/lib/notice-words";
import { usageOfMetrics } from "@/lib/usage-words";
import { type Event, ownValue, placeOf } from "@/protocol/events";
import { readAndWritten } from "./run-words";

export interface EventRow {
  /** Where in the log its first event is. */
  index: number;
  seq: number;
  /** From the first event of the log. */
  offsetMs: number | null;
  type: string;
  events: Event[];
}

/** The name of an event: its type, or for a CUSTOM one its own name. */
export const nameOf = (event: Event): string => (event.type === "CUSTOM" ? event.name : event.type);

/** Makes rows of the log; pieces that follow each other and belong together are one, unless all are wanted raw. */
export function rowsOfLog(events: readonly Event[], raw: boolean): EventRow[] {
  const origin = events.find((event) => event.timestamp !== undefined)?.timestamp;
  const rows: EventRow[] = [];
  let open: string | null = null;
  events.forEach((event, index) => {
    const piece = raw ? null : pieceOf(event);
    const last = rows.at(-1);
    if (piece !== null && piece === open && last) {
      last.events.push(event);
      return;
    }
    open = piece;
    rows.push({
      index,
      seq: placeOf(event)?.seq ?? index + 1,
      offsetMs: origin === undefined || event.timestamp === undefined ? null : event.timestamp - origin,
      type: nameOf(event),
      events: [event],
    });
  });
  return rows;
}

/** What a piece is a piece of; null for an event that stands for itself. */
function pieceOf(event: Event): string | null {
  switch (event.type) {
    case "TEXT_MESSAGE_CHUNK":
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CHUNK":
    case "REASONING_MESSAGE_CONTENT":
      return `${event.type} ${event.messageId}`;
    case "TOOL_CALL_ARGS":
    case "TOOL_CALL_CHUNK":
      return `${event.type} ${event.toolCallId}`;
    default:
      return null;
  }
}

/** Keeps the rows of a type, or whose events have a text anywhere in them. */
export function filterRows(rows: readonly EventRow[], type: string, text: string): EventRow[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter((row) => {
    if (type && row.type !== type) return false;
    if (!wanted) return true;
    return (
      deltasOf(row).toLowerCase().includes(wanted) ||
      row.events.some((event) => lower(event).includes(wanted))
    );
  });
}

const lowered = new WeakMap<Event, string>();

function lower(event: Event): string {
  let text = lowered.get(event);
  if (text === undefined) {
    text = JSON.stringify(event).toLowerCase();
    lowered.set(event, text);
  }
  return text;
}

/** The text that a row's pieces make together. */
export function deltasOf(row: EventRow): string {
  return row.events
    .map((event) => ("delta" in event && typeof event.delta === "string" ? event.delta : ""))
    .join("");
}

/** One line on what happened. */
export function summaryOf(row: EventRow): string {
  const event = row.events[0];
  if (!event) return "";
  if (pieceOf(event) !== null) return deltasOf(row);
  switch (event.type) {
    case "RUN_STARTED":
      return wordsOf(event.input?.messages?.findLast((message) => message.role === "user")?.content);
    case "STEP_STARTED":
    case "STEP_FINISHED":
      return event.stepName;
    case "TOOL_CALL_START":
      return event.toolCallName;
    case "TOOL_CALL_RESULT":
      return wordsOf(event.content);
    case "SUBAGENT_STARTED":
      return event.name;
    case "SUBAGENT_ERROR":
      return event.message;
    case "RUN_FINISHED":
      return event.outcome?.type ?? "";
    case "RUN_ERROR":
      return `${event.code ?? ""} ${event.message}`.trim();
    case "CUSTOM":
      return ownSummary(event);
    default:
      return "";
  }
}

function ownSummary(event: Event): string {
  const metrics = ownValue(event, "agio.metrics");
  if (metrics) {
    const which = metrics.scope === "run" ? "run" : `step ${metrics.step ?? "?"}`;
    return `${which}: ${readAndWritten(usageOfMetrics(metrics))}, model ${metrics.model_ms} ms, tools ${metrics.tool_ms} ms`;
  }
  const handoff = ownValue(event, "agio.handoff");
  if (handoff) return `${handoff.from} → ${handoff.to}${handoff.reason ? `: ${handoff.reason}` : ""}`;
  const given = ownValue(event, "agio.error") ?? ownValue(event, "agio.notice");
  if (given) return `${given.code}: ${given.message}`;
  const rewind = ownValue(event, "agio.rewind");
  if (rewind) return `back to event ${rewind.to_seq}`;
  const compacted = ownValue(event, "agio.compacted");
  if (compacted) return summarisedWords(compacted.messages);
  const suggested = ownValue(event, "agio.memory_suggested");
  if (suggested) return suggestedWords(suggested.suggestions.length);
  const progress = ownValue(event, "agio.tool_progress");
  return progress?.message ?? "";
}

function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  return content === undefined ? "" : JSON.stringify(content);
}
