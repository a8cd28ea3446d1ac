/** A word of the server in between: something was left out, or failed and is tried again. */
import { Info, RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "@/lib/class-names";
import { useNow } from "@/lib/use-now";
import type { NoticePart } from "@/state/thread";

/** `over` says that the run has gone on since, or ended. */
export function Notice({ part, over }: { part: NoticePart; over: boolean }): ReactNode {
  const waiting = part.retryAt !== null && !over;
  const now = useNow(waiting);
  const left = part.retryAt === null ? 0 : Math.ceil((part.retryAt - now) / 1_000);
  if (part.detail !== undefined)
    return (
      <details className="my-2 text-sm text-soft">
        <summary className="cursor-pointer rounded-lg px-1.5 py-1 -ml-1.5 hover:bg-hover hover:text-ink">
          {part.message}
        </summary>
        <p className="mt-1 ml-2 border-l-2 border-line pl-4 whitespace-pre-wrap wrap-anywhere">
          {part.detail}
        </p>
      </details>
    );
  const Icon = part.level === "error" ? RotateCcw : Info;
  return (
    <div
      role={over ? undefined : "status"}
      className={cx(
        "my-2 flex items-start gap-2 text-sm",
        over ? "text-soft" : "rounded-xl px-3 py-2",
        !over && (part.level === "error" ? "bg-warn-soft text-warn" : "bg-panel text-soft"),
      )}
    >
      <Icon className="mt-0.5 size-4 shrink-0" aria-hidden />
      <p
        className={cx("min-w-0", over ? "truncate" : "wrap-anywhere")}
        title={over ? part.message : undefined}
      >
        {part.message} <span className="font-mono text-xs">{part.code}</span>
        {waiting && (
          <span className="ml-1.5 font-medium">{left > 0 ? `Retrying in ${left} s` : "Retrying…"}</span>
        )}
      </p>
    </div>
  );
}
