/** A problem where it happened: the words, the code, and a way to try again. */
import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { problemOf } from "@/lib/problem";
import { Button } from "./button";

interface ProblemNoteProps {
  problem: unknown;
  onRetry?: () => void;
}

export function ProblemNote({ problem, onRetry }: ProblemNoteProps): ReactNode {
  const { code, message } = problemOf(problem);
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-3 rounded-xl bg-bad-soft px-4 py-3 text-sm text-bad"
    >
      <CircleAlert className="size-4 shrink-0" aria-hidden />
      <p className="min-w-0 flex-1 wrap-anywhere">
        {message} <span className="font-mono text-xs">{code}</span>
      </p>
      {onRetry && (
        <Button size="small" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
