/** One row of the waterfall: its label, its bar on the time axis, and its details when it is unfolded. */

import { ChevronRight } from "lucide-react";
import { memo, type ReactNode } from "react";
import { cx } from "@/lib/class-names";
import { formatDuration } from "@/lib/format";
import { usageOfMetrics } from "@/lib/usage-words";
import type { ToolExecutionView } from "@/protocol/api";
import { readAndWritten } from "../run-words";
import { placeIn, type Window } from "./time-axis";
import { WaterfallDetails } from "./waterfall-details";
import { type Row, rowMs } from "./waterfall-rows";
import { isPoint, KINDS, rowWords } from "./waterfall-words";

const HINT = 160;

interface WaterfallRowProps {
  row: Row;
  nowMs: number;
  window: Window;
  open: boolean;
  onToggle: (key: string) => void;
  onZoom: (row: Row) => void;
  call?: ToolExecutionView | undefined;
}

export const WaterfallRow = memo(function WaterfallRow(props: WaterfallRowProps): ReactNode {
  const { row, nowMs, open, onToggle, onZoom, call } = props;
  const words = rowWords(row, nowMs);
  const hint = hintOf(row);
  return (
    <li className={cx(row.kind === "step" && row.depth === 0 && "mt-2 first:mt-0")}>
      <button
        type="button"
        data-row
        aria-expanded={open}
        onClick={() => onToggle(row.key)}
        className={cx(
          "group relative grid w-full items-center gap-x-3 gap-y-1 rounded-lg px-2 py-1.5 text-left text-[0.8125rem] hover:bg-hover focus-visible:-outline-offset-2 lg:grid-cols-[minmax(12rem,18rem)_1fr]",
          row.kind === "step" && "font-medium",
          row.takenBack && "text-soft",
        )}
      >
        <span className="sr-only">{words}</span>
        {row.lanes.map(({ depth }) => (
          <span
            key={depth}
            aria-hidden
            className={cx(
              "absolute bottom-0 w-0.5 bg-fuchsia-500/50",
              depth === row.depth ? "top-6" : "top-0",
            )}
            style={{ left: `${0.875 + depth * 0.875}rem` }}
          />
        ))}
        <Label row={row} nowMs={nowMs} open={open} />
        <Bar {...props} />
        {hint && !open && <Hint text={hint} />}
      </button>
      {open && (
        <div className="my-1 ml-3 rounded-xl border border-line bg-raised p-3 sm:ml-6">
          <WaterfallDetails row={row} call={call} />
          {!isPoint(row) && (
            <button
              type="button"
              onClick={() => onZoom(row)}
              className="mt-3 text-[0.8125rem] text-accent-text underline-offset-4 hover:underline"
            >
              Zoom to this
            </button>
          )}
        </div>
      )}
    </li>
  );
});

/** What a row is about, while the pointer or the focus is on it. There may be hundreds, so it is style alone. */
function Hint({ text }: { text: string }): ReactNode {
  return (
    <span
      aria-hidden
      className="pointer-events-none invisible absolute top-full left-1/4 z-20 w-max max-w-[min(24rem,70%)] rounded-md bg-ink px-2 py-1 text-xs font-normal text-canvas opacity-0 shadow-md transition-opacity delay-300 wrap-anywhere group-hover:visible group-hover:opacity-100 group-focus-visible:visible group-focus-visible:opacity-100"
    >
      {text}
    </span>
  );
}

function Label({ row, nowMs, open }: { row: Row; nowMs: number; open: boolean }): ReactNode {
  return (
    <span
      aria-hidden
      className="flex min-w-0 items-center gap-1.5"
      style={{ paddingLeft: `${row.depth * 0.875}rem` }}
    >
      <ChevronRight
        className={cx("size-3.5 shrink-0 text-soft transition-transform", open && "rotate-90")}
        aria-hidden
      />
      <span className={cx("size-2 shrink-0 rounded-sm", KINDS[row.kind].fill)} aria-hidden />
      <span
        className={cx(
          "truncate",
          row.kind === "tool" && "font-mono text-xs",
          row.takenBack && "line-through decoration-1",
        )}
      >
        {row.label}
      </span>
      {row.error && <span className="truncate font-mono text-xs text-bad">{row.error}</span>}
      <span className="ml-auto shrink-0 pl-2 text-xs font-normal text-soft tabular-nums">
        {timeOf(row, nowMs)}
      </span>
    </span>
  );
}

function Bar({ row, nowMs, window }: WaterfallRowProps): ReactNode {
  const end = row.endMs ?? nowMs;
  const place = placeIn(window, row.startMs, end);
  const ran = row.kind === "tool" && row.ranMs !== null ? placeIn(window, row.ranMs, end) : null;
  const first = row.firstMs === null ? null : placeIn(window, row.firstMs, row.firstMs);
  const { fill } = KINDS[row.kind];
  const lane = row.kind === "subagent" ? undefined : row.lanes.at(-1);
  const band = lane && placeIn(window, lane.startMs, lane.endMs ?? nowMs);
  return (
    <span aria-hidden className="relative block h-4 overflow-hidden rounded bg-panel lg:bg-transparent">
      {band && (
        <span
          className="absolute inset-y-0 bg-fuchsia-500/10"
          style={{ left: `${band.left}%`, width: `max(3px, ${band.width}%)` }}
        />
      )}
      {place && isPoint(row) && (
        <span
          className={cx("absolute top-0.5 size-3 -translate-x-1/2 rotate-45 rounded-sm", fill)}
          style={{ left: `clamp(0.5rem, ${place.left}%, calc(100% - 0.5rem))` }}
        />
      )}
      {place && !isPoint(row) && (
        <>
          <span
            className={cx(
              "absolute rounded-sm",
              row.kind === "step" ? "top-1.5 h-1" : "top-0.5 h-3",
              fill,
              (row.takenBack || row.kind === "tool") && "opacity-40",
              row.endMs === null && "animate-pulse",
            )}
            style={{ left: `${place.left}%`, width: `max(3px, ${place.width}%)` }}
          />
          {ran && (
            <span
              className={cx("absolute top-0.5 h-3 rounded-sm", fill, row.takenBack && "opacity-40")}
              style={{ left: `${ran.left}%`, width: `max(3px, ${ran.width}%)` }}
            />
          )}
          {first && row.kind === "model" && (
            <span className="absolute inset-y-0 w-0.5 bg-ink" style={{ left: `${first.left}%` }} />
          )}
        </>
      )}
    </span>
  );
}

const timeOf = (row: Row, nowMs: number): string =>
  isPoint(row) ? `at ${formatDuration(row.startMs)}` : formatDuration(rowMs(row, nowMs));

/** The first words of what the details have. */
function hintOf(row: Row): string | null {
  if (row.kind === "tool")
    return shorten(`${row.label}(${row.args ?? ""})${row.result === null ? "" : ` → ${row.result}`}`);
  if (row.metrics && row.kind === "model") return readAndWritten(usageOfMetrics(row.metrics));
  return shorten(row.note || row.text) || null;
}

const shorten = (text: string): string => (text.length > HINT ? `${text.slice(0, HINT)}…` : text);
