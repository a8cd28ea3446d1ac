/** The state of a run as a badge: what goes on pulses, what failed says why. */
import type { ReactNode } from "react";
import type { RunView } from "@/protocol/api";
import { Badge, type Tone } from "./ui/badge";

export const STATES: Record<RunView["status"], { word: string; tone: Tone }> = {
  queued: { word: "Queued", tone: "neutral" },
  running: { word: "Running", tone: "accent" },
  completed: { word: "Completed", tone: "good" },
  failed: { word: "Failed", tone: "bad" },
  cancelled: { word: "Stopped", tone: "neutral" },
  // It stays so when the next run of its chat brings the answer; whether it still waits only the chat knows.
  interrupted: { word: "Asked for approval", tone: "warn" },
  expired: { word: "Waited too long", tone: "bad" },
};

interface RunStatusProps {
  run: RunView;
  /** Whether somebody has to answer it now. */
  asks?: boolean;
}

export function RunStatus({ run, asks = false }: RunStatusProps): ReactNode {
  const { word, tone } = STATES[run.status];
  return (
    <Badge tone={tone}>
      {run.status === "running" && (
        <span aria-hidden className="size-1.5 animate-pulse rounded-full bg-accent" />
      )}
      {asks ? "Waits for approval" : run.status === "running" && run.cancel_requested ? "Stopping" : word}
      {run.status === "failed" && run.error_code && (
        <span className="max-w-40 truncate font-mono font-normal">{run.error_code}</span>
      )}
    </Badge>
  );
}
