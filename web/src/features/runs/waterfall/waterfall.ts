/** What happened in a run and when, as rows on one time axis: made of the log's events alone. */
import { FILTERS } from "@/lib/handoff-words";
import { suggestedWords, summarisedWords } from "@/lib/notice-words";
import {
  type Event,
  type EventOf,
  type Handoff,
  type Metrics,
  ownValue,
  placeOf,
  type RunPlace,
} from "@/protocol/events";
import { bar, type Growing, type Row, rowsOf } from "./waterfall-rows";

export interface Waterfall {
  rows: Row[];
  /** When the run began, in milliseconds since 1970; all rows count from it. */
  origin: number;
  /** From the start to the last event, or to now if the run is in progress. */
  lengthMs: number;
  ended: boolean;
}

interface Options {
  /** The names of calls that this log has no beginning of, such as those a person was asked about before. */
  toolNames?: ReadonlyMap<string, string>;
  /** The current time, up to which open rows are drawn. */
  now?: number;
}

export function buildWaterfall(events: readonly Event[], options: Options = {}): Waterfall {
  const builder = new Builder(options.toolNames ?? new Map());
  for (const event of events) builder.take(event);
  return builder.finish(options.now);
}

/** What is open of an agent or a sub-agent: its steps, innermost last, and the model call under way. */
interface Owner {
  inside: Growing[];
  model: Growing | null;
  tries: number;
  /** The agent it was handed over to; empty: the one it began with. */
  agent: string;
}

const newOwner = (): Owner => ({ inside: [], model: null, tries: 0, agent: "" });

class Builder {
  private readonly toolNames: ReadonlyMap<string, string>;
  private readonly top: Growing[] = [];
  private readonly owners = new Map<string, Owner>([["", newOwner()]]);
  /** What text, calls and sub-agents grow in, by kind and id. */
  private readonly growing = new Map<string, Growing>();
  private readonly lastSaid: { text?: string; reasoning?: string } = {};
  private readonly all: Growing[] = [];
  private origin: number | null = null;
  private at = 0;
  private ended = false;

  constructor(toolNames: ReadonlyMap<string, string>) {
    this.toolNames = toolNames;
  }

  take(event: Event): void {
    this.tick(event.timestamp);
    const owner = this.ownerOf(event);
    switch (event.type) {
      case "RUN_STARTED":
        this.ended = false;
        owner.agent = (event.metadata as RunPlace | undefined)?.agent ?? "";
        for (const answer of event.input?.resume ?? []) this.answered(answer);
        break;
      case "STEP_STARTED":
        this.startStep(owner, event);
        break;
      case "STEP_FINISHED":
        this.finishStep(owner, event.stepName);
        break;
      case "TEXT_MESSAGE_START":
      case "TEXT_MESSAGE_CONTENT":
      case "TEXT_MESSAGE_CHUNK":
        this.say(owner, event, "text", event.messageId, "delta" in event ? event.delta : "");
        break;
      case "REASONING_MESSAGE_START":
      case "REASONING_MESSAGE_CONTENT":
      case "REASONING_MESSAGE_CHUNK":
        this.say(owner, event, "reasoning", event.messageId, "delta" in event ? event.delta : "");
        break;
      case "TOOL_CALL_START":
        this.startCall(owner, event, event.toolCallId, event.toolCallName);
        break;
      case "TOOL_CALL_CHUNK":
        this.takeChunk(owner, event);
        break;
      case "TOOL_CALL_ARGS":
        this.write(owner, event.toolCallId, event.delta);
        break;
      case "TOOL_CALL_END":
        this.endArguments(owner, event.toolCallId);
        break;
      case "TOOL_CALL_RESULT":
        this.takeResult(owner, event);
        break;
      case "SUBAGENT_STARTED":
        this.startSubagent(event);
        break;
      case "SUBAGENT_FINISHED":
        this.endSubagent(event.subagentRunId, null);
        break;
      case "SUBAGENT_ERROR":
        this.endSubagent(event.subagentRunId, event.message);
        break;
      case "RUN_FINISHED":
        this.finishRun(event);
        break;
      case "RUN_ERROR":
        this.failRun(event);
        break;
      case "CUSTOM":
        this.takeOwn(owner, event);
        break;
      default:
        break;
    }
  }

  finish(now: number | undefined): Waterfall {
    const origin = this.origin ?? 0;
    const lengthMs = this.ended || now === undefined ? this.at : Math.max(this.at, now - origin);
    return { rows: rowsOf(this.top), origin, lengthMs, ended: this.ended };
  }

  /** Time never goes back, even if the clocks of two machines differ. */
  private tick(timestamp: number | undefined): void {
    if (timestamp === undefined) return;
    this.origin ??= timestamp;
    this.at = Math.max(this.at, timestamp - this.origin);
  }

  private ownerOf(event: Event): Owner {
    const id = "subagentRunId" in event && event.subagentRunId ? event.subagentRunId : "";
    return this.owner(event.type.startsWith("SUBAGENT") ? "" : id);
  }

  private owner(id: string): Owner {
    let owner = this.owners.get(id);
    if (!owner) {
      owner = newOwner();
      this.owners.set(id, owner);
    }
    return owner;
  }

  private add(owner: Owner, row: Growing, event?: Event): Growing {
    const step = owner.inside.findLast((outer) => outer.kind === "step");
    row.step = row.kind === "step" ? row.step : (step?.step ?? null);
    row.seq = event ? (placeOf(event)?.seq ?? 0) : 0;
    (owner.inside.at(-1)?.inner ?? this.top).push(row);
    this.all.push(row);
    return row;
  }

  private startStep(owner: Owner, event: EventOf<"STEP_STARTED">): void {
    const number = Number(/^step-(\d+)$/.exec(event.stepName)?.[1] ?? Number.NaN);
    const label = Number.isNaN(number) ? event.stepName : `Step ${number}`;
    const step = bar("step", owner.agent ? `${label} · ${owner.agent}` : label, this.at);
    step.id = event.stepName;
    step.step = Number.isNaN(number) ? null : number;
    this.add(owner, step, event);
    owner.inside.push(step);
    owner.tries = 0;
    this.startModel(owner);
  }

  private finishStep(owner: Owner, name: string): void {
    const at = owner.inside.findLastIndex((row) => row.kind === "step" && row.id === name);
    if (at < 0) return;
    this.endModel(owner);
    for (const row of owner.inside.splice(at)) row.endMs = this.at;
  }

  private startModel(owner: Owner): void {
    owner.tries += 1;
    owner.model = this.add(
      owner,
      bar("model", owner.tries > 1 ? `Model, attempt ${owner.tries}` : "Model", this.at),
    );
  }

  /** The model call ends with the last thing the model said, which is the last time it was heard of. */
  private endModel(owner: Owner): void {
    if (!owner.model) return;
    owner.model.endMs ??= owner.model.heardMs ?? this.at;
    owner.model = null;
  }

  private heard(owner: Owner): void {
    if (!owner.model) return;
    owner.model.firstMs ??= this.at;
    owner.model.heardMs = this.at;
  }

  private say(owner: Owner, event: Event, kind: "text" | "reasoning", id?: string, delta = ""): void {
    this.heard(owner);
    const key = id === undefined ? (this.lastSaid[kind] ?? `${kind} `) : `${kind} ${id}`;
    this.lastSaid[kind] = key;
    let row = this.growing.get(key);
    if (!row) {
      row = this.add(owner, bar(kind, kind === "text" ? "Text" : "Reasoning", this.at), event);
      this.growing.set(key, row);
    }
    row.text += delta;
    row.endMs = this.at;
  }

  private startCall(owner: Owner, event: Event, id: string, name: string): Growing {
    const known = this.growing.get(`call ${id}`);
    if (known) return known;
    this.heard(owner);
    const row = this.add(owner, bar("tool", name, this.at), event);
    row.args = "";
    row.callId = id;
    this.growing.set(`call ${id}`, row);
    return row;
  }

  private takeChunk(owner: Owner, event: EventOf<"TOOL_CALL_CHUNK">): void {
    const newest = this.all.findLast((row) => row.kind === "tool" && row.endMs === null);
    const row = event.toolCallId
      ? this.startCall(owner, event, event.toolCallId, event.toolCallName ?? "tool")
      : newest;
    this.heard(owner);
    if (!row) return;
    row.args = (row.args ?? "") + (event.delta ?? "");
    row.ranMs = this.at;
  }

  private write(owner: Owner, id: string, delta: string): void {
    this.heard(owner);
    const row = this.growing.get(`call ${id}`);
    if (row) row.args = (row.args ?? "") + delta;
  }

  private endArguments(owner: Owner, id: string): void {
    this.heard(owner);
    const row = this.growing.get(`call ${id}`);
    if (row) row.ranMs ??= this.at;
  }

  private takeResult(owner: Owner, event: EventOf<"TOOL_CALL_RESULT">): void {
    this.endModel(owner);
    const code = (event.metadata as { error?: unknown } | undefined)?.error;
    let row = this.growing.get(`call ${event.toolCallId}`);
    if (!row) {
      const began = owner.inside.at(-1)?.startMs ?? 0;
      row = this.add(owner, bar("tool", this.toolNames.get(event.toolCallId) ?? "tool", began), event);
      row.note = "Requested by an earlier run.";
      row.callId = event.toolCallId;
      this.growing.set(`call ${event.toolCallId}`, row);
    }
    if (row.result !== null) return;
    row.result = wordsOf(event.content);
    row.resultSeq = placeOf(event)?.seq ?? 0;
    row.error = typeof code === "string" ? code : null;
    row.endMs = this.at;
  }

  private startSubagent(event: EventOf<"SUBAGENT_STARTED">): void {
    const outer = this.owner(event.parentSubagentRunId ?? "");
    const row = this.add(outer, bar("subagent", event.name, this.at), event);
    this.growing.set(`subagent ${event.subagentRunId}`, row);
    const owner = this.owner(event.subagentRunId);
    owner.inside = [row];
  }

  private endSubagent(id: string, problem: string | null): void {
    const row = this.growing.get(`subagent ${id}`);
    const owner = this.owner(id);
    this.endModel(owner);
    for (const inner of owner.inside) inner.endMs ??= this.at;
    owner.inside = [];
    if (!row) return;
    row.endMs = this.at;
    if (problem !== null) {
      row.error = "failed";
      row.note = problem;
    }
  }

  private takeOwn(owner: Owner, event: EventOf<"CUSTOM">): void {
    const metrics = ownValue(event, "agio.metrics");
    if (metrics?.scope === "step") this.measure(owner, metrics);
    const rewind = ownValue(event, "agio.rewind");
    if (rewind) this.rewind(owner, event, rewind.to_seq);
    const trouble = ownValue(event, "agio.error");
    if (trouble) this.trouble(owner, event, trouble);
    const notice = ownValue(event, "agio.notice");
    if (notice) this.point(owner, "notice", notice.code, notice.message, event);
    const handoff = ownValue(event, "agio.handoff");
    if (handoff) this.handOver(owner, event, handoff);
    const compacted = ownValue(event, "agio.compacted");
    if (compacted) {
      const row = this.point(owner, "notice", "summary", summarisedWords(compacted.messages), event);
      row.text = compacted.text;
      if (owner.model?.firstMs === null) owner.model.startMs = this.at; // the summary was a call of its own
    }
    const suggested = ownValue(event, "agio.memory_suggested");
    if (suggested) {
      const words = `${suggestedWords(suggested.suggestions.length)} since the last run of the chat.`;
      this.point(owner, "notice", "memories", words, event);
    }
    const progress = ownValue(event, "agio.tool_progress");
    const call = progress && this.growing.get(`call ${progress.tool_call_id}`);
    if (call && progress.message) call.note = progress.message;
  }

  private handOver(owner: Owner, event: Event, { from, to, filter, reason }: Handoff): void {
    owner.agent = to;
    this.endModel(owner);
    const note = [reason, `${to} sees ${FILTERS[filter]}.`].filter(Boolean).join("\n");
    this.point(owner, "handoff", `${from} → ${to}`, note, event);
  }

  private measure(owner: Owner, metrics: Metrics): void {
    const step = owner.inside.findLast((row) => row.kind === "step");
    if (!step) return;
    step.metrics = metrics;
    this.dropUnmade(owner);
    const model = owner.model ?? step.inner.findLast((row) => row.kind === "model");
    if (!model) return;
    model.metrics = metrics;
    if (owner.tries === 1) {
      // The server measured the one call there was; what was heard of it may be a little less.
      const measured = Math.min(model.startMs + metrics.model_ms, this.at);
      model.endMs = Math.max(measured, model.heardMs ?? 0);
      if (metrics.first_token_ms !== undefined) model.firstMs = model.startMs + metrics.first_token_ms;
    }
    this.endModel(owner);
  }

  /** An attempt failed: its output is discarded, and the next one begins. */
  private rewind(owner: Owner, event: Event, toSeq: number): void {
    for (const [key, row] of this.growing) {
      if (row.seq > toSeq) {
        row.takenBack = true;
        row.endMs ??= this.at;
        this.growing.delete(key);
      } else if (row.resultSeq > toSeq) {
        row.result = null;
        row.resultSeq = 0;
        row.error = null;
        row.endMs = null;
      }
    }
    this.point(owner, "rewind", "Discarded", "The partial answer of this attempt was discarded.", event);
    this.breakOff(owner);
  }

  private trouble(
    owner: Owner,
    event: Event,
    { code, message, retry_in_ms }: { code: string; message: string; retry_in_ms?: number },
  ): void {
    if (retry_in_ms === undefined) {
      this.point(owner, "error", code, message, event);
      return;
    }
    const begun = owner.model;
    if (begun && (begun.heardMs !== null || begun.startMs < this.at)) this.breakOff(owner);
    const wait = bar("retry", "Waiting to retry", this.at);
    wait.endMs = this.at + retry_in_ms;
    wait.error = code;
    wait.note = message;
    const next = owner.model;
    const siblings = owner.inside.at(-1)?.inner ?? this.top;
    this.add(owner, wait, event);
    if (!next) return;
    next.startMs = wait.endMs;
    siblings.splice(siblings.indexOf(next), 1);
    siblings.push(next);
  }

  private breakOff(owner: Owner): void {
    if (!owner.model) return;
    owner.model.takenBack = true;
    owner.model.endMs = this.at;
    this.startModel(owner);
  }

  private point(owner: Owner, kind: Row["kind"], label: string, note: string, event?: Event): Growing {
    const row = this.add(owner, bar(kind, label, this.at), event);
    row.endMs = this.at;
    row.note = note;
    return row;
  }

  private answered(answer: { interruptId: string; status: string; payload?: unknown }): void {
    const payload = answer.payload as { approved?: unknown; reason?: unknown } | undefined;
    const approved = answer.status === "resolved" && payload?.approved === true;
    const reason = typeof payload?.reason === "string" ? payload.reason : "";
    this.point(this.owner(""), "approval", approved ? "Approved" : "Not approved", reason);
  }

  private finishRun(event: EventOf<"RUN_FINISHED">): void {
    const outcome = event.outcome;
    this.close(outcome?.type === "cancelled" ? "cancelled" : null);
    if (outcome?.type !== "interrupt") return;
    for (const asked of outcome.interrupts) {
      this.point(this.owner(""), "approval", "Asks for approval", asked.message ?? "", event);
    }
  }

  private failRun(event: EventOf<"RUN_ERROR">): void {
    this.close("failed");
    const row = this.point(this.owner(""), "error", "Run failed", event.message, event);
    row.error = event.code ?? "error";
  }

  /** A try that was to come, and for which there was no time any more, was none. */
  private dropUnmade(owner: Owner): void {
    const model = owner.model;
    if (!model || model.heardMs !== null || owner.tries === 1 || model.startMs < this.at) return;
    const siblings = owner.inside.at(-1)?.inner ?? this.top;
    siblings.splice(siblings.indexOf(model), 1);
    owner.model = null;
    owner.tries -= 1;
  }

  /** The end of the run is the end of all that is open. */
  private close(how: string | null): void {
    for (const owner of this.owners.values()) {
      this.dropUnmade(owner);
      owner.inside = [];
      owner.model = null;
    }
    for (const row of this.all) {
      if (row.kind === "retry") row.endMs = Math.min(row.endMs ?? this.at, this.at);
      if (row.endMs !== null) continue;
      row.endMs = Math.max(row.startMs, this.at);
      if (how === null && row.kind === "tool" && row.ranMs !== null) {
        row.endMs = row.ranMs;
        row.note = "Not run here: it waits for approval or for the client's result.";
      }
      if (how !== null && row.kind !== "step") row.error ??= how;
    }
    this.ended = true;
  }
}

function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  return JSON.stringify(content, null, 2) ?? "";
}
