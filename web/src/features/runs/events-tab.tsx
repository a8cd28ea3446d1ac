/** The log, event by event. Only what is in sight is on the page, however long it is. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { Download } from "lucide-react";
import { type ReactNode, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { buttonClass } from "@/components/ui/button";
import { Field, Input, Select } from "@/components/ui/field";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Switch } from "@/components/ui/switch";
import { formatCounted } from "@/lib/format";
import { EventLine } from "./event-row";
import { type EventRow, filterRows, nameOf, rowsOfLog } from "./event-rows";
import type { LogState } from "./run-log";

const ROW_PX = 33;
const NEAR_END_PX = 60;

interface EventsTabProps {
  runId: string;
  log: LogState;
  goingOn: boolean;
}

export function EventsTab({ runId, log, goingOn }: EventsTabProps): ReactNode {
  const [type, setType] = useState("");
  const [text, setText] = useState("");
  const [raw, setRaw] = useState(false);
  const wanted = useDeferredValue(text);
  const types = useMemo(() => [...new Set(log.events.map(nameOf))].sort(), [log.events]);
  const all = useMemo(() => rowsOfLog(log.events, raw), [log.events, raw]);
  const rows = useMemo(() => filterRows(all, type, wanted), [all, type, wanted]);
  return (
    <div>
      <div className="mb-3 grid items-end gap-3 sm:flex sm:flex-wrap">
        <Field label="Type" className="sm:w-60">
          {(control) => (
            <Select {...control} value={type} onChange={(event) => setType(event.target.value)}>
              <option value="">All types</option>
              {types.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Text" className="sm:w-60">
          {(control) => (
            <Input
              {...control}
              type="search"
              placeholder="Search events"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <div className="flex h-9 items-center">
          <Switch label="Show individual chunks" checked={raw} onChange={setRaw} />
        </div>
        <a
          href={`/api/runs/${encodeURIComponent(runId)}/events`}
          download={`${runId}.ndjson`}
          className={`${buttonClass()} sm:ml-auto`}
        >
          <Download className="size-4" aria-hidden />
          Download NDJSON
        </a>
      </div>
      <p aria-live={goingOn ? "off" : "polite"} className="mb-2 text-[0.8125rem] text-soft">
        {formatCounted(log.events.length, "event")}
        {rows.length !== log.events.length && `, ${formatCounted(rows.length, "row")} shown`}
        {goingOn && ", still running"}
      </p>
      {log.events.length === 0 && log.phase === "loading" && <SkeletonRows rows={8} className="h-7" />}
      {log.phase === "ready" && rows.length === 0 && (
        <p className="rounded-xl border border-line px-4 py-8 text-center text-sm text-soft">
          {log.events.length === 0 ? "No events yet." : "No matching events."}
        </p>
      )}
      {rows.length > 0 && <Rows rows={rows} follow={goingOn} />}
    </div>
  );
}

function Rows({ rows, follow }: { rows: EventRow[]; follow: boolean }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(false);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    getItemKey: (at) => rows[at]?.index ?? at,
    overscan: 12,
  });
  useEffect(() => {
    if (follow && atEnd.current) list.scrollToIndex(rows.length - 1, { align: "end" });
  }, [follow, rows.length, list]);
  const look = () => {
    const shown = box.current;
    if (shown) atEnd.current = shown.scrollHeight - shown.scrollTop - shown.clientHeight < NEAR_END_PX;
  };
  const toggle = (index: number) =>
    setOpen((was) => {
      const next = new Set(was);
      if (!next.delete(index)) next.add(index);
      return next;
    });
  return (
    <div
      ref={box}
      onScroll={look}
      className="h-[clamp(18rem,60dvh,48rem)] overflow-y-auto rounded-2xl border border-line p-1"
    >
      <ul aria-label="Events" className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          return (
            <li
              key={item.key}
              ref={list.measureElement}
              data-index={item.index}
              aria-setsize={rows.length}
              aria-posinset={item.index + 1}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <EventLine row={row} open={open.has(row.index)} onToggle={() => toggle(row.index)} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}
