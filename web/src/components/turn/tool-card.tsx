/** A call of a tool: what it is given, how far it is, what it gave back. */
import { Check, CircleAlert, CirclePause, CircleSlash, LoaderCircle, Wrench } from "lucide-react";
import { memo, type ReactNode } from "react";
import { type Lazily, useLazily } from "@/components/markdown/lazily";
import { Badge } from "@/components/ui/badge";
import { formatDuration } from "@/lib/format";
import { failureWords } from "@/lib/tool-words";
import { useNow } from "@/lib/use-now";
import type { CallPart } from "@/state/thread";
import { type CallState, durationOf, type Verdict } from "./call-state";
import { summaryOf } from "./call-summary";
import { FoldCard } from "./fold-card";
import { ServerHelp } from "./server-help";
import { ToolTitle } from "./tool-title";

const VERDICTS = { approved: "Approved", changed: "Approved with changes", answered: "Answered" };

interface ToolCardProps {
  call: CallPart;
  state: CallState;
  verdict: Verdict;
}

export const ToolCard = memo(function ToolCard({ call, state, verdict }: ToolCardProps): ReactNode {
  const failed = state === "failed";
  const changed = call.answer?.editedArgs;
  return (
    <FoldCard
      name={call.id}
      icon={<Wrench className="size-4" />}
      title={<ToolTitle name={call.name || "tool"} />}
      summary={summaryOf(changed ? JSON.stringify(changed) : call.args)}
      state={<State call={call} state={state} verdict={verdict} />}
      below={
        state === "running" && call.progress ? (
          <Progress progress={call.progress} />
        ) : failed ? (
          <ServerHelp tool={call.name} code={call.error ?? ""} />
        ) : null
      }
      bad={failed}
    >
      {() => <Details call={call} failed={failed} />}
    </FoldCard>
  );
});

const DETAILS: Lazily<typeof import("./tool-details")> = { load: () => import("./tool-details") };

function Details(props: { call: CallPart; failed: boolean }): ReactNode {
  const details = useLazily(DETAILS, true);
  return details && <details.ToolDetails {...props} />;
}

function State({ call, state, verdict }: ToolCardProps): ReactNode {
  const took = durationOf(call);
  switch (state) {
    case "writing":
      return (
        <>
          <Spinner /> Writing
        </>
      );
    case "running":
      return <Running call={call} />;
    case "asking":
      return (
        <>
          <CirclePause className="size-3.5 text-warn" aria-hidden /> Waiting for approval
        </>
      );
    case "needing":
      return (
        <>
          <CirclePause className="size-3.5 text-warn" aria-hidden /> Waiting for your answer
        </>
      );
    case "pending":
      return (
        <>
          <CirclePause className="size-3.5" aria-hidden /> Waiting for result
        </>
      );
    case "allowed":
      return <Said verdict={verdict} />;
    case "rejected":
      return <Badge tone="bad">Rejected</Badge>;
    case "unanswered":
      return <Badge>Not run</Badge>;
    case "ended":
      return (
        <>
          <CircleSlash className="size-3.5" aria-hidden /> No result
        </>
      );
    case "failed":
      return (
        <span className="flex items-center gap-1.5 text-bad">
          <CircleAlert className="size-3.5" aria-hidden />
          <span className="sr-only">Failed:</span>
          <span className="max-w-32 truncate sm:max-w-56" title={call.error ?? undefined}>
            {failureWords(call.error ?? "")}
          </span>
        </span>
      );
    case "done":
      return (
        <>
          <Said verdict={verdict} />
          {took !== null && took > 0 && formatDuration(took)}
          <Check className="size-3.5 text-good" aria-label="Done" />
        </>
      );
  }
}

function Said({ verdict }: { verdict: Verdict }): ReactNode {
  return verdict && <Badge tone="good">{VERDICTS[verdict]}</Badge>;
}

function Running({ call }: { call: CallPart }): ReactNode {
  const now = useNow(true);
  const elapsed = call.startedAt === null ? 0 : now - call.startedAt;
  return (
    <>
      <Spinner /> Running{elapsed >= 1_000 ? ` · ${Math.floor(elapsed / 1_000)} s` : ""}
    </>
  );
}

function Spinner(): ReactNode {
  return <LoaderCircle className="size-3.5 animate-spin" aria-hidden />;
}

function Progress({ progress }: { progress: NonNullable<CallPart["progress"]> }): ReactNode {
  const { message, fraction } = progress;
  const percent = fraction === undefined ? undefined : Math.round(100 * Math.min(1, Math.max(0, fraction)));
  return (
    <div className="flex flex-col gap-1.5 px-3 pb-2.5">
      {message && <p className="truncate text-xs text-soft">{message}</p>}
      {percent !== undefined && (
        <progress
          value={percent}
          max={100}
          aria-label={message || "Progress"}
          className="h-1 w-full appearance-none overflow-hidden rounded-full [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-hover [&::-webkit-progress-value]:bg-accent [&::-webkit-progress-value]:transition-[width]"
        />
      )}
    </div>
  );
}
