/** The waterfall: the steps of the run, and in each what happened, on one time axis. */
import { ChevronLeft, ChevronRight, Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useCallback, useDeferredValue, useMemo, useState } from "react";
import { Button, IconButton } from "@/components/ui/button";
import { SkeletonRows } from "@/components/ui/skeleton";
import { formatCount, formatDuration } from "@/lib/format";
import type { ToolExecutionView } from "@/protocol/api";
import type { LogState } from "../run-log";
import { marksOf, placeIn, shift, type Window, zoom } from "./time-axis";
import { buildWaterfall, type Waterfall } from "./waterfall";
import { WaterfallRow } from "./waterfall-row";
import type { Row, RowKind } from "./waterfall-rows";
import { KINDS } from "./waterfall-words";

/** A mark further to the right, in percent, would have no room for its words. */
const LAST_MARK = 87;

/** How many rows are on the page at first, and how many more at a time. */
const MANY = 200;

interface WaterfallTabProps {
  log: LogState;
  calls: ToolExecutionView[];
  /** The current time, while the run is in progress. */
  now: number | undefined;
}

export function WaterfallTab({ log, calls, now }: WaterfallTabProps): ReactNode {
  const toolNames = useMemo(() => new Map(calls.map((call) => [call.key, call.tool])), [calls]);
  const events = useDeferredValue(log.events);
  const waterfall = useMemo(
    () => buildWaterfall(events, now === undefined ? { toolNames } : { toolNames, now }),
    [events, toolNames, now],
  );
  if (events.length === 0)
    return log.phase === "loading" ? (
      <SkeletonRows rows={6} className="h-7" />
    ) : (
      <p className="py-6 text-sm text-soft">No events yet: the run is queued.</p>
    );
  return <Chart waterfall={waterfall} calls={calls} />;
}

function Chart({ waterfall, calls }: { waterfall: Waterfall; calls: ToolExecutionView[] }): ReactNode {
  const { rows, lengthMs } = waterfall;
  const [zoomed, setZoomed] = useState<Window | null>(null);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [most, setMost] = useState(MANY);
  const window = useMemo(() => zoomed ?? { fromMs: 0, toMs: Math.max(1, lengthMs) }, [zoomed, lengthMs]);
  const toggle = useCallback(
    (key: string) =>
      setOpen((was) => {
        const next = new Set(was);
        if (!next.delete(key)) next.add(key);
        return next;
      }),
    [],
  );
  const zoomTo = useCallback(
    (row: Row) => {
      const end = row.endMs ?? lengthMs;
      const margin = Math.max(1, (end - row.startMs) * 0.05);
      const fromMs = Math.max(0, row.startMs - margin);
      setZoomed({ fromMs, toMs: Math.min(Math.max(1, lengthMs), end + margin) });
    },
    [lengthMs],
  );
  const callOf = useMemo(() => recorded(rows, calls), [rows, calls]);
  return (
    <div>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <Legend rows={rows} />
        <div className="flex items-center gap-1">
          {zoomed && (
            <>
              <IconButton label="Earlier" onClick={() => setZoomed(shift(window, -1, lengthMs))}>
                <ChevronLeft className="size-4" aria-hidden />
              </IconButton>
              <IconButton label="Later" onClick={() => setZoomed(shift(window, 1, lengthMs))}>
                <ChevronRight className="size-4" aria-hidden />
              </IconButton>
            </>
          )}
          <IconButton label="Zoom in" onClick={() => setZoomed(zoom(window, 0.5, Math.max(1, lengthMs)))}>
            <ZoomIn className="size-4" aria-hidden />
          </IconButton>
          <IconButton
            label="Zoom out"
            disabled={!zoomed}
            onClick={() => setZoomed(zoom(window, 2, Math.max(1, lengthMs)))}
          >
            <ZoomOut className="size-4" aria-hidden />
          </IconButton>
          <Button size="small" look="quiet" disabled={!zoomed} onClick={() => setZoomed(null)}>
            <Maximize2 className="size-4" aria-hidden />
            Fit
          </Button>
        </div>
      </div>
      <Axis window={window} />
      <ul aria-label="Timeline" className="flex flex-col" onKeyDown={goThrough}>
        {rows.slice(0, most).map((row) => (
          <WaterfallRow
            key={row.key}
            row={row}
            nowMs={lengthMs}
            window={window}
            open={open.has(row.key)}
            onToggle={toggle}
            onZoom={zoomTo}
            call={callOf.get(row.key)}
          />
        ))}
      </ul>
      {rows.length > most && (
        <div className="mt-3 flex justify-center">
          <Button size="small" onClick={() => setMost(most + MANY)}>
            Show {formatCount(Math.min(MANY, rows.length - most))} more of {formatCount(rows.length)}
          </Button>
        </div>
      )}
    </div>
  );
}

function Axis({ window }: { window: Window }): ReactNode {
  return (
    <div aria-hidden className="grid gap-x-3 px-2 lg:grid-cols-[minmax(12rem,18rem)_1fr]">
      <span className="hidden lg:block" />
      <span className="relative block h-5 border-b border-line">
        {marksOf(window, 5).map((at) => {
          const place = placeIn(window, at, at);
          if (!place || place.left > LAST_MARK) return null;
          return (
            <span
              key={at}
              className="absolute bottom-0 border-l border-line pl-1 text-[0.6875rem] leading-4 whitespace-nowrap text-soft tabular-nums"
              style={{ left: `${place.left}%` }}
            >
              {formatDuration(at)}
            </span>
          );
        })}
      </span>
    </div>
  );
}

function Legend({ rows }: { rows: readonly Row[] }): ReactNode {
  const kinds = [...new Set(rows.map((row) => row.kind))].filter((kind): kind is RowKind => kind !== "step");
  return (
    <ul aria-label="Colours" className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
      {kinds.map((kind) => (
        <li key={kind} className="flex items-center gap-1.5">
          <span className={`size-2.5 rounded-sm ${KINDS[kind].fill}`} aria-hidden />
          {KINDS[kind].word}
        </li>
      ))}
      {kinds.includes("model") && (
        <li className="flex items-center gap-1.5">
          <span className="h-3 w-0.5 bg-ink" aria-hidden />
          First token
        </li>
      )}
    </ul>
  );
}

/** The record of each call, by its row. */
function recorded(rows: readonly Row[], calls: ToolExecutionView[]): Map<string, ToolExecutionView> {
  const byId = new Map(calls.map((call) => [call.key, call]));
  return new Map(
    rows.flatMap((row) => {
      const call = row.kind === "tool" && !row.takenBack ? byId.get(row.callId) : undefined;
      return call ? [[row.key, call] as const] : [];
    }),
  );
}

/** Up, down, home and end go from row to row. */
function goThrough(event: KeyboardEvent<HTMLUListElement>): void {
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-row]")];
  const at = rows.indexOf(event.target as HTMLElement);
  if (at < 0) return;
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  rows[Math.min(rows.length - 1, Math.max(0, next))]?.focus();
}
