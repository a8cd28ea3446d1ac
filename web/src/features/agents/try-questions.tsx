/** What the tried agent asks before it goes on; all open questions are answered at once. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import { api } from "@/lib/api";
import type { Question } from "@/state/thread";

export function TryQuestions({
  sessionId,
  questions,
}: {
  sessionId: string;
  questions: Question[];
}): ReactNode {
  const decide = useMutation({
    mutationFn: (approved: boolean) => {
      const answers = questions.map(({ id }) => ({ interrupt_id: id, approved }));
      const path = { session_id: sessionId };
      return api.POST("/api/agent-sessions/{session_id}/answer", { params: { path }, body: { answers } });
    },
  });
  if (questions.length === 0) return null;
  return (
    <div className="flex flex-col gap-3 rounded-xl bg-warn-soft p-3.5 text-sm">
      {questions.map((question) => (
        <p key={question.id} className="wrap-anywhere">
          {question.message || "May the agent go on?"}
        </p>
      ))}
      {decide.isError && <ProblemNote problem={decide.error} />}
      <div className="flex flex-wrap gap-2">
        <Button look="primary" size="small" busy={decide.isPending} onClick={() => decide.mutate(true)}>
          {questions.length > 1 ? "Approve all" : "Approve"}
        </Button>
        <Button size="small" disabled={decide.isPending} onClick={() => decide.mutate(false)}>
          {questions.length > 1 ? "Reject all" : "Reject"}
        </Button>
      </div>
    </div>
  );
}
