/** A problem where it happened: the words, the code, and a way to try again. */
import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { problemOf } from "@/api/problem";
import { Button } from "./button";

interface ProblemNoteProps {
  problem: unknown;
  /** What to do about it. */
  advice?: string | null;
  onRetry?: () => void;
}

export function ProblemNote({ problem, advice, onRetry }: ProblemNoteProps): ReactNode {
  const { code, message } = problemOf(problem);
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-3 rounded-xl bg-bad-soft px-4 py-3 text-sm text-bad"
    >
      <CircleAlert className="size-4 shrink-0" aria-hidden />
      <div className="min-w-0 flex-1 wrap-anywhere">
        <p>
          {message} <span className="font-mono text-xs">{code}</span>
        </p>
        {advice && <p className="mt-1 text-ink">{advice}</p>}
      </div>
      {onRetry && (
        <Button size="small" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
