/** Why a run failed: in words, with its code, and what to do. */
import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { adviceFor, UNKNOWN_FAILURE } from "@/lib/failure-words";
import type { RunView } from "@/protocol/api";
import type { Event } from "@/protocol/events";

export function RunFailure({ run, events }: { run: RunView; events: readonly Event[] }): ReactNode {
  const last = events.at(-1);
  const ended = last?.type === "RUN_ERROR" ? last : null; // also before the run is read again
  const code = run.error_code ?? ended?.code;
  if (run.status !== "failed" && !ended) return null;
  const advice = code ? adviceFor(code) : null;
  return (
    <section
      aria-label="Why it failed"
      className="mb-5 flex gap-3 rounded-xl bg-bad-soft px-4 py-3 text-sm text-bad"
    >
      <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
      <div className="min-w-0">
        <p className="wrap-anywhere">
          {run.error_message ?? ended?.message ?? UNKNOWN_FAILURE}{" "}
          {code && <span className="font-mono text-xs">{code}</span>}
        </p>
        {advice && <p className="mt-1 text-ink">{advice}</p>}
      </div>
    </section>
  );
}
