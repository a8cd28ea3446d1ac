/** The open approval requests of the tried agent; all are answered together. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "@/api/client";
import { JsonView } from "@/components/json/json-view";
import { Button } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import { visible } from "@/lib/visible";
import { type CallPart, findCall, openQuestions, type Question, type Thread } from "@/state/thread";

export function TryQuestions({ sessionId, thread }: { sessionId: string; thread: Thread }): ReactNode {
  const questions = openQuestions(thread);
  const decide = useMutation({
    mutationFn: (approved: boolean) => {
      const answers = questions.map(({ id }) => ({ interrupt_id: id, approved }));
      const path = { session_id: sessionId };
      return api.POST("/api/agent-sessions/{session_id}/answer", { params: { path }, body: { answers } });
    },
  });
  if (questions.length === 0) return null;
  const parts = thread.turns.flatMap((turn) => turn.parts);
  return (
    <div className="flex flex-col gap-3 rounded-xl bg-warn-soft p-3.5 text-sm">
      {questions.map((question) => (
        <Asked key={question.id} question={question} call={findCall(parts, question.callId)} />
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

function Asked({ question, call }: { question: Question; call: CallPart | null }): ReactNode {
  return (
    <div className="flex flex-col gap-2">
      <p className="wrap-anywhere">{visible(question.message) || "Approve this action?"}</p>
      {call && <JsonView text={call.args || "{}"} label={`Arguments of ${call.name}`} />}
    </div>
  );
}
