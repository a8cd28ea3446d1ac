/** The questions of a run about its calls. All are decided, then sent together, because the server wants them at once. */
import { MessageCircleQuestion, ShieldQuestion } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { useKeptState } from "@/components/turn/kept-state";
import { Button } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import { isAtWork } from "@/lib/at-work";
import type { Answer } from "@/protocol/commands";
import { findCall, type Turn } from "@/state/thread";
import { ApprovalQuestion } from "./approval-question";

interface ApprovalCardProps {
  turn: Turn;
  onAnswer: (answers: Answer[]) => Promise<void>;
}

export function ApprovalCard({ turn, onAnswer }: ApprovalCardProps): ReactNode {
  const [decided, setDecided] = useKeptState<ReadonlyMap<string, Answer>>(`decided ${turn.runId}`, new Map());
  const [busy, setBusy] = useKeptState(`busy ${turn.runId}`, false);
  const [problem, setProblem] = useKeptState<unknown>(`problem ${turn.runId}`, null);
  const card = useFocusUnlessAtWork();
  const { questions } = turn;
  const several = questions.length > 1;
  const toTool = questions.some((question) => question.input !== null);

  const send = async (answers: Answer[]) => {
    setBusy(true);
    setProblem(null);
    try {
      await onAnswer(answers); // what was decided stays shown until the run goes on
    } catch (thrown) {
      setProblem(thrown);
      if (!several) setDecided(new Map());
    } finally {
      setBusy(false);
    }
  };
  const decide = (answer: Answer) => {
    setDecided(new Map(decided).set(answer.interrupt_id, answer));
    if (!several) void send([answer]);
  };
  const undo = (id: string) => setDecided(new Map([...decided].filter(([decidedId]) => decidedId !== id)));
  const answers = questions.flatMap((question) => decided.get(question.id) ?? []);

  return (
    <section
      ref={card}
      tabIndex={-1}
      aria-label={
        toTool ? "Questions of tools" : several ? `${questions.length} approval requests` : "Approval request"
      }
      className="my-3 flex flex-col gap-4 rounded-2xl border border-warn/50 bg-raised p-4 shadow-sm"
    >
      <h3 className="flex items-center gap-2 text-sm font-semibold">
        {toTool ? (
          <MessageCircleQuestion className="size-4 text-warn" aria-hidden />
        ) : (
          <ShieldQuestion className="size-4 text-warn" aria-hidden />
        )}
        {toTool
          ? several
            ? `${questions.length} questions to you`
            : "A tool asks you"
          : several
            ? `Approve these ${questions.length} actions?`
            : "Approve this action?"}
      </h3>
      {questions.map((question) => (
        <ApprovalQuestion
          key={question.id}
          question={question}
          call={findCall(turn.parts, question.callId)}
          decided={decided.get(question.id) ?? null}
          busy={busy}
          onDecide={decide}
          onUndo={several ? () => undo(question.id) : undefined}
        />
      ))}
      {problem !== null && <ProblemNote problem={problem} />}
      {several && (
        <div className="flex flex-wrap items-center justify-end gap-3 border-t border-line pt-3">
          <span className="text-sm text-soft" aria-live="polite">
            {answers.length} of {questions.length} decided
          </span>
          <Button
            look="primary"
            busy={busy}
            disabled={answers.length < questions.length}
            onClick={() => void send(answers)}
          >
            Send answers
          </Button>
        </div>
      )}
    </section>
  );
}

/** Takes the focus when it appears, unless the user is in another control. */
function useFocusUnlessAtWork() {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isAtWork()) element.current?.focus({ preventScroll: true });
  }, []);
  return element;
}
