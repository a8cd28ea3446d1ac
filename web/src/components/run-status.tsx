/** The state of a run as a badge: a running one pulses, a failed one says why. */
import type { ReactNode } from "react";
import type { RunView } from "@/protocol/api";
import { Badge, type Tone } from "./ui/badge";

export const STATES: Record<RunView["status"], { word: string; tone: Tone }> = {
  queued: { word: "Queued", tone: "neutral" },
  running: { word: "Running", tone: "accent" },
  completed: { word: "Completed", tone: "good" },
  failed: { word: "Failed", tone: "bad" },
  cancelled: { word: "Stopped", tone: "neutral" },
  interrupted: { word: "Waiting for approval", tone: "warn" },
  expired: { word: "Expired", tone: "bad" },
};

/** What became of what a run asked: its status stays `interrupted` when the next run brings the answer. */
const CLOSED: Record<Exclude<NonNullable<RunView["question"]>, "open">, { word: string; tone: Tone }> = {
  resolved: { word: "Answered", tone: "neutral" },
  cancelled: { word: "Not answered", tone: "neutral" },
  expired: { word: "Not answered in time", tone: "bad" },
};

export function RunStatus({ run }: { run: RunView }): ReactNode {
  const { word, tone } = run.question && run.question !== "open" ? CLOSED[run.question] : STATES[run.status];
  return (
    <Badge tone={tone}>
      {run.status === "running" && (
        <span aria-hidden className="size-1.5 animate-pulse rounded-full bg-accent" />
      )}
      {run.status === "running" && run.cancel_requested ? "Stopping" : word}
      {run.status === "failed" && run.error_code && (
        <span className="max-w-40 truncate font-mono font-normal">{run.error_code}</span>
      )}
    </Badge>
  );
}
