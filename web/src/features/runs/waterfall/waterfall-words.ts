/** The rows of a waterfall in words and colours. */
import { formatDuration } from "@/lib/format";
import { type Row, type RowKind, rowMs } from "./waterfall-rows";

/** Each kind's word for the legend and for reading out, and the colour of its bar. */
export const KINDS: Record<RowKind, { word: string; fill: string }> = {
  step: { word: "Step", fill: "bg-strong-line" },
  model: { word: "Model call", fill: "bg-accent" },
  reasoning: { word: "Reasoning", fill: "bg-violet-500" },
  text: { word: "Text", fill: "bg-sky-500" },
  tool: { word: "Tool", fill: "bg-amber-500" },
  subagent: { word: "Sub-agent", fill: "bg-fuchsia-500" },
  retry: { word: "Wait", fill: "bg-orange-300" },
  handoff: { word: "Handoff", fill: "bg-teal-500" },
  rewind: { word: "Rewind", fill: "bg-bad-fill" },
  approval: { word: "Approval", fill: "bg-warn" },
  notice: { word: "Notice", fill: "bg-soft" },
  error: { word: "Error", fill: "bg-bad-fill" },
};

const POINTS: ReadonlySet<RowKind> = new Set(["handoff", "rewind", "approval", "notice", "error"]);

const NAMED: ReadonlySet<RowKind> = new Set(["tool", "subagent", "handoff"]);

/** Whether a row is a moment rather than a span of time. */
export const isPoint = (row: Row): boolean => POINTS.has(row.kind);

/** A row as it is read out: "Tool calculator, 4 ms, step 1". */
export function rowWords(row: Row, nowMs: number): string {
  const { word } = KINDS[row.kind];
  const named = NAMED.has(row.kind) ? `${word} ${row.label}` : row.label;
  const time = isPoint(row) ? `at ${formatDuration(row.startMs)}` : formatDuration(rowMs(row, nowMs));
  const parts = [named, time];
  if (row.step !== null && row.kind !== "step") parts.push(`step ${row.step}`);
  if (row.endMs === null) parts.push("in progress");
  if (row.takenBack) parts.push("discarded");
  if (row.error) parts.push(row.error);
  return parts.join(", ");
}
