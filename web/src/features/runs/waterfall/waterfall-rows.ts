/** The rows of a waterfall: how they grow while the log is read, and the flat list that is shown. */
import type { Metrics } from "@/protocol/events";

export type RowKind =
  | "step"
  | "model"
  | "reasoning"
  | "text"
  | "tool"
  | "subagent"
  | "retry"
  | "rewind"
  | "handoff"
  | "approval"
  | "notice"
  | "error";

export interface Row {
  /** Its place in the list, which no row before it changes. */
  key: string;
  kind: RowKind;
  label: string;
  /** Of a tool: the id of its call. */
  callId: string;
  depth: number;
  /** The sub-agents in which it is, outermost first; the row of one is in its own. */
  lanes: readonly Lane[];
  step: number | null;
  /** From the beginning of the run; an end of null is not here yet. */
  startMs: number;
  endMs: number | null;
  /** Of a model call: when the first piece of its answer came. */
  firstMs: number | null;
  /** Of a tool: when its arguments were complete and it could run. */
  ranMs: number | null;
  /** The code of what went wrong. */
  error: string | null;
  /** Whether it was said in a try that broke off. */
  takenBack: boolean;
  note: string;
  text: string;
  args: string | null;
  result: string | null;
  metrics: Metrics | null;
}

/** When a sub-agent was at work, and how deep its row is in others. */
export interface Lane {
  depth: number;
  startMs: number;
  endMs: number | null;
}

/** A row while the log is read. */
export interface Growing extends Omit<Row, "key" | "depth" | "lanes"> {
  id: string;
  seq: number;
  resultSeq: number;
  /** When the model was last heard of. */
  heardMs: number | null;
  inner: Growing[];
}

export function bar(kind: RowKind, label: string, startMs: number): Growing {
  return {
    kind,
    label,
    startMs,
    id: "",
    callId: "",
    seq: 0,
    resultSeq: 0,
    heardMs: null,
    inner: [],
    step: null,
    endMs: null,
    firstMs: null,
    ranMs: null,
    error: null,
    takenBack: false,
    note: "",
    text: "",
    args: null,
    result: null,
    metrics: null,
  };
}

/** The rows one below the other, each knowing how deep it is in others. */
export function rowsOf(
  growing: readonly Growing[],
  depth = 0,
  above = "",
  outer: readonly Lane[] = [],
): Row[] {
  return growing.flatMap((row, place) => {
    const key = `${above}${place}`;
    const { kind, startMs, endMs } = row;
    const lanes = kind === "subagent" ? [...outer, { depth, startMs, endMs }] : outer;
    const { id: _id, seq: _seq, resultSeq: _resultSeq, heardMs: _heardMs, inner, ...shown } = row;
    return [{ ...shown, key, depth, lanes }, ...rowsOf(inner, depth + 1, `${key}.`, lanes)];
  });
}

/** How long a row took, up to `nowMs` if it is in progress. A tool's time starts when it could run. */
export function rowMs(row: Row, nowMs: number): number {
  const start = row.kind === "tool" ? (row.ranMs ?? row.startMs) : row.startMs;
  return Math.max(0, (row.endMs ?? nowMs) - start);
}
