/** One row of the log: when, what, and unfolded the events themselves. */
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { Badge } from "@/components/ui/badge";
import { CopyButton } from "@/components/ui/copy-button";
import { cx } from "@/lib/class-names";
import { formatCount, formatDuration } from "@/lib/format";
import { deltasOf, type EventRow, summaryOf } from "./event-rows";

const SHOWN_PIECES = 50;
const LONGEST_SUMMARY = 400;

interface EventLineProps {
  row: EventRow;
  open: boolean;
  onToggle: () => void;
}

export function EventLine({ row, open, onToggle }: EventLineProps): ReactNode {
  const failed = row.type === "RUN_ERROR" || row.type === "agio.error";
  return (
    <>
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
        className="grid w-full grid-cols-[auto_auto_1fr] items-center gap-x-2 rounded-lg px-2 py-1.5 text-left text-[0.8125rem] hover:bg-hover focus-visible:-outline-offset-2 sm:grid-cols-[auto_3.5rem_5.5rem_15rem_1fr]"
      >
        <ChevronRight
          className={cx("size-3.5 text-soft transition-transform", open && "rotate-90")}
          aria-hidden
        />
        <span className="text-xs text-soft tabular-nums sm:text-right">{row.seq}</span>
        <span className="text-xs text-soft tabular-nums sm:text-right">
          {row.offsetMs !== null && `+${formatDuration(row.offsetMs)}`}
        </span>
        <span className="col-span-3 flex min-w-0 items-center gap-1.5 pl-5.5 sm:col-span-1 sm:pl-0">
          <span className={cx("truncate font-mono text-xs", failed && "text-bad")}>{row.type}</span>
          {row.events.length > 1 && <Badge>× {formatCount(row.events.length)}</Badge>}
        </span>
        <span className="col-span-3 truncate pl-5.5 text-soft sm:col-span-1 sm:pl-0">
          {summaryOf(row).slice(0, LONGEST_SUMMARY)}
        </span>
      </button>
      {open && <Unfolded row={row} />}
    </>
  );
}

function Unfolded({ row }: { row: EventRow }): ReactNode {
  const shown = row.events.slice(0, SHOWN_PIECES);
  const left = row.events.length - shown.length;
  const text = row.events.length > 1 ? deltasOf(row) : "";
  const json = shown.map((event) => JSON.stringify(event, null, row.events.length > 1 ? 0 : 2)).join("\n");
  return (
    <div className="relative my-1 mr-2 ml-2 rounded-xl border border-line bg-panel p-3 sm:ml-7">
      <div className="absolute top-1.5 right-1.5">
        <CopyButton
          text={() => row.events.map((event) => JSON.stringify(event)).join("\n")}
          label="Copy as JSON lines"
        />
      </div>
      {text && (
        <p className="mb-3 max-h-48 overflow-y-auto pr-8 text-[0.8125rem] whitespace-pre-wrap wrap-anywhere">
          {text}
        </p>
      )}
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-80 overflow-auto pr-8 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
      >
        {json}
      </pre>
      {left > 0 && <p className="mt-2 text-xs text-soft">and {formatCount(left)} more chunks</p>}
    </div>
  );
}
