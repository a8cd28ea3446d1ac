/** The state of a run as a badge: what goes on pulses, what failed says why. */
import type { ReactNode } from "react";
import { Badge } from "@/components/ui/badge";
import type { RunView } from "@/protocol/api";
import { STATES } from "./run-words";

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
