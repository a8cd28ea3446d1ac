/** The open approval requests of the tried agent; all are answered together. */
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api } from "@/api/client";
import { JsonView } from "@/components/json/json-view";
import { InputQuestion } from "@/components/turn/input-question";
import { Button } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import { visible } from "@/lib/visible";
import type { Answer } from "@/protocol/commands";
import { type CallPart, findCall, openQuestions, type Question, type Thread } from "@/state/thread";

export function TryQuestions({ sessionId, thread }: { sessionId: string; thread: Thread }): ReactNode {
  const questions = openQuestions(thread);
  const decide = useMutation({
    mutationFn: (answers: Answer[]) => {
      const path = { session_id: sessionId };
      return api.POST("/api/agent-sessions/{session_id}/answer", {
        params: { path },
        body: { answers: answers.map(bodyOf) },
      });
    },
  });
  const [given, setGiven] = useState<ReadonlyMap<string, Answer>>(new Map());
  if (questions.length === 0) return null;
  const parts = thread.turns.flatMap((turn) => turn.parts);
  const approvals = questions.filter((question) => question.input === null);
  const give = (answers: Answer[]) => {
    const all = new Map([...given, ...answers.map((answer) => [answer.interrupt_id, answer] as const)]);
    setGiven(all);
    const complete = questions.flatMap(({ id }) => all.get(id) ?? []);
    if (complete.length === questions.length) decide.mutate(complete);
  };
  const judge = (approved: boolean) => give(approvals.map(({ id }) => ({ interrupt_id: id, approved })));
  const open = approvals.some(({ id }) => !given.has(id)) || decide.isError;
  return (
    <div className="flex flex-col gap-3 rounded-xl bg-warn-soft p-3.5 text-sm">
      {questions.map((question) => (
        <Asked
          key={question.id}
          question={question}
          call={findCall(parts, question.callId)}
          busy={decide.isPending}
          onAnswer={(answer) => give([{ interrupt_id: question.id, ...answer }])}
        />
      ))}
      {decide.isError && <ProblemNote problem={decide.error} />}
      {approvals.length > 0 && open && (
        <div className="flex flex-wrap gap-2">
          <Button look="primary" size="small" busy={decide.isPending} onClick={() => judge(true)}>
            {approvals.length > 1 ? "Approve all" : "Approve"}
          </Button>
          <Button size="small" disabled={decide.isPending} onClick={() => judge(false)}>
            {approvals.length > 1 ? "Reject all" : "Reject"}
          </Button>
        </div>
      )}
    </div>
  );
}

function bodyOf({ interrupt_id, approved, content }: Answer) {
  return approved ? { interrupt_id, approved, content: content ?? null } : { interrupt_id, approved };
}

interface AskedProps {
  question: Question;
  call: CallPart | null;
  busy: boolean;
  onAnswer: (answer: Omit<Answer, "interrupt_id">) => void;
}

function Asked({ question, call, busy, onAnswer }: AskedProps): ReactNode {
  return (
    <div className="flex flex-col gap-2">
      <p className="wrap-anywhere">{visible(question.message) || "Approve this action?"}</p>
      {question.input ? (
        <InputQuestion
          id={question.id}
          tool={question.tool}
          input={question.input}
          busy={busy}
          onDecide={onAnswer}
        />
      ) : (
        call && <JsonView text={call.args || "{}"} label={`Arguments of ${call.name}`} />
      )}
    </div>
  );
}
