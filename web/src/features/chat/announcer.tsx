/** Tells a screen reader when an answer is there, once, and not its every word. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Turn, TurnStatus } from "@/state/thread";

const SAID: Partial<Record<TurnStatus, string>> = {
  completed: "The answer is finished.",
  failed: "The run failed.",
  cancelled: "The run was stopped.",
  interrupted: "The agent needs your approval.",
  expired: "The run expired in the queue.",
};

export function Announcer({ turns }: { turns: readonly Turn[] }): ReactNode {
  const newest = turns.findLast((turn) => turn.status !== "queued");
  const [said, setSaid] = useState("");
  const before = useRef<{ runId: string; status: TurnStatus } | null>(null);
  const runId = newest?.runId ?? "";
  const status = newest?.status ?? "queued";
  useEffect(() => {
    const last = before.current;
    before.current = { runId, status };
    if (status === "running") setSaid("The agent is answering.");
    else if (last?.runId === runId && last.status === "running") setSaid(SAID[status] ?? "");
  }, [runId, status]);
  return (
    <p role="status" className="sr-only">
      {said}
    </p>
  );
}
