/** Where the conversation went from one agent to another: whom to, why, and what that one sees of it. */
import { ArrowRightLeft } from "lucide-react";
import type { ReactNode } from "react";
import { FILTERS } from "@/lib/handoff-words";
import type { HandoffPart } from "@/state/thread";

export function HandoffMark({ part: { from, to, reason, filter } }: { part: HandoffPart }): ReactNode {
  return (
    <div className="my-4 flex items-start gap-3 border-y border-line py-2.5 text-sm">
      <span className="mt-0.5 rounded-md bg-accent-soft p-1 text-accent-text">
        <ArrowRightLeft className="size-3.5" aria-hidden />
      </span>
      <div className="min-w-0 wrap-anywhere">
        <p>
          <b className="font-medium">{from}</b> <span className="text-soft">handed over to</span>{" "}
          <b className="font-medium">{to}</b>
        </p>
        {(reason || filter !== "all") && (
          <p className="text-[0.8125rem] text-soft">
            {[reason, filter === "all" ? "" : `${to} sees ${FILTERS[filter]}`].filter(Boolean).join(" · ")}
          </p>
        )}
      </div>
    </div>
  );
}
