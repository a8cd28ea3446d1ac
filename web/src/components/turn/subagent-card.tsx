/** A helper of the agent, with what it says and does inside. */
import { Bot, Check, CircleAlert, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import type { SubagentPart } from "@/state/thread";
import { FoldCard } from "./fold-card";
import { MessageText } from "./message-text";

interface SubagentCardProps {
  part: SubagentPart;
  /** The run is in progress. */
  live: boolean;
  children: () => ReactNode;
}

export function SubagentCard({ part, live, children }: SubagentCardProps): ReactNode {
  const running = part.status === "running";
  const failed = part.status === "failed";
  return (
    <FoldCard
      name={part.id}
      icon={<Bot className="size-4" />}
      title={part.name || "Sub-agent"}
      summary={failed ? part.message : part.task}
      bad={failed}
      startsOpen={live && running}
      state={
        running && live ? (
          <>
            <LoaderCircle className="size-3.5 animate-spin" aria-hidden /> Working
          </>
        ) : failed ? (
          <span className="flex items-center gap-1.5 text-bad">
            <CircleAlert className="size-3.5" aria-hidden /> Failed
          </span>
        ) : running ? (
          "Stopped"
        ) : part.status === "waiting" ? (
          "Waiting"
        ) : (
          <>
            <Check className="size-3.5 text-good" aria-hidden /> Done
          </>
        )
      }
    >
      {() => (
        <div className="flex flex-col">
          {part.task && (
            <div className="rounded-lg bg-panel px-3 py-2 text-sm">
              <h3 className="text-xs text-soft">Task</h3>
              <MessageText text={part.task} />
            </div>
          )}
          {part.parts.length === 0 && !part.message && <p className="text-sm text-soft">No output yet.</p>}
          {children()}
          {part.message && (
            <p className="rounded-lg bg-bad-soft px-3 py-2 text-sm text-bad wrap-anywhere">{part.message}</p>
          )}
        </div>
      )}
    </FoldCard>
  );
}
