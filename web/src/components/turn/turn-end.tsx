/** How a turn stands at its end: working, waiting, stopped, failed. */
import { CircleStop, Clock, Hourglass } from "lucide-react";
import type { ReactNode } from "react";
import { Problem } from "@/api/problem";
import { ProblemNote } from "@/components/ui/problem-note";
import { adviceFor, UNKNOWN_FAILURE } from "@/lib/failure-words";
import type { Turn } from "@/state/thread";
import { Working } from "./working";

interface TurnEndProps {
  turn: Turn;
  live: boolean;
  onRetry?: (() => void) | undefined;
}

export function TurnEnd({ turn, live, onRetry }: TurnEndProps): ReactNode {
  switch (turn.status) {
    case "queued":
      return (
        <Line icon={<Hourglass className="size-4" aria-hidden />}>
          <span role="status">Queued</span>
        </Line>
      );
    case "running":
      return live && isSilent(turn) ? <Working /> : null;
    case "cancelled":
      return <Line icon={<CircleStop className="size-4" aria-hidden />}>Stopped.</Line>;
    case "expired":
      return (
        <Line icon={<Clock className="size-4" aria-hidden />}>
          Expired: it waited in the queue for too long.
        </Line>
      );
    case "failed": {
      const { code, message } = turn.error ?? { code: "failed", message: UNKNOWN_FAILURE };
      return (
        <div className="my-2">
          <ProblemNote
            problem={new Problem(code, message)}
            advice={adviceFor(code)}
            {...(onRetry ? { onRetry } : {})}
          />
        </div>
      );
    }
    default:
      return null;
  }
}

function Line({ icon, children }: { icon: ReactNode; children: ReactNode }): ReactNode {
  return (
    <p className="my-2 flex items-center gap-2 text-sm text-soft">
      {icon}
      {children}
    </p>
  );
}

/** Whether no visible part shows that the run is in progress. */
function isSilent({ parts }: Turn): boolean {
  const last = parts.at(-1);
  if (!last) return true;
  if (last.kind === "call") return last.result !== null;
  if (last.kind === "subagent") return last.status !== "running";
  if (last.kind === "notice") return last.retryAt === null;
  return ["system", "input", "handoff"].includes(last.kind) || (last.kind === "text" && !last.text);
}
