/** Events as the log has them: AG-UI's, and agio's own, which travel as CUSTOM. */
import type { Event as AgUiEvent, ContentPart } from "@ag-ui/core";
import type { HandoffBody } from "./api";

export type { ContentPart, Interrupt, Message } from "@ag-ui/core";

/** AG-UI's events, with their types as the plain strings they are on the wire. */
export type Event = Plain<AgUiEvent>;
type Plain<E> = E extends { type: infer T extends string } ? Omit<E, "type"> & { type: `${T}` } : never;
export type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** What every event of a logged run carries in its metadata. */
export interface Place {
  run: string;
  seq: number;
}

/** What RUN_STARTED says of the run's place: the run it continues, and whether that is another than the newest. */
export interface RunPlace {
  parent?: { run: string; seq: number };
  branch?: boolean;
  /** The agent to which the conversation was handed over before. */
  agent?: string;
}

export interface Metrics {
  scope: "step" | "run";
  step?: number;
  steps?: number;
  model?: string;
  run_ms?: number;
  /** Left out, with the cost, if no model call reported its usage. */
  input_tokens?: number;
  output_tokens?: number;
  cached_input_tokens?: number;
  reasoning_tokens?: number;
  /** A model call did not tell what it used: the tokens and the cost are of the rest. */
  usage_partial?: boolean;
  model_ms: number;
  tool_ms: number;
  model_calls: number;
  first_token_ms?: number;
  cost?: number;
}

/** An agent gives the conversation to another. */
export interface Handoff {
  from: string;
  to: string;
  /** What `to` sees of the conversation. */
  filter: HandoffBody["filter"];
  /** The call by which it was requested; left out if the agent before was gone. */
  call?: string;
  reason?: string;
}

/** The CUSTOM events the server writes, by name. One that is not listed here comes from elsewhere. */
export interface OwnEvents {
  "agio.metrics": Metrics;
  "agio.error": {
    code: string;
    message: string;
    attempt?: number;
    retry_in_ms?: number;
    tell_model?: string;
  };
  "agio.notice": { code: string; message: string };
  "agio.compacted": { text: string; messages: number };
  "agio.memory_suggested": { suggestions: string[] };
  "agio.rewind": { to_seq: number };
  "agio.input": { idx: number; message: { id: string; content: string | ContentPart[] } };
  "agio.handoff": Handoff;
  "agio.tool_progress": { tool_call_id: string; message?: string; fraction?: number };
}

/** The value of one of our own events; undefined if the event is another. */
export function ownValue<Name extends keyof OwnEvents>(
  event: Event,
  name: Name,
): OwnEvents[Name] | undefined {
  return event.type === "CUSTOM" && event.name === name ? (event.value as OwnEvents[Name]) : undefined;
}

/** Where in its run an event is; undefined for one that is not from a log. */
export function placeOf(event: Event): Place | undefined {
  const metadata = event.metadata as Partial<Place> | undefined;
  return typeof metadata?.run === "string" && typeof metadata.seq === "number"
    ? { run: metadata.run, seq: metadata.seq }
    : undefined;
}
