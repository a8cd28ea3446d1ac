/** One question about a call: what would be done exactly, and yes, yes with changes, or no. */
import { Check, Pencil, X } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { JsonView } from "@/components/json/json-view";
import { InputQuestion } from "@/components/turn/input-question";
import { useKeptState } from "@/components/turn/kept-state";
import { ToolTitle } from "@/components/turn/tool-title";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { SkeletonRows } from "@/components/ui/skeleton";
import { cx } from "@/lib/class-names";
import { formatDuration, formatMoment } from "@/lib/format";
import { useNow } from "@/lib/use-now";
import { visible } from "@/lib/visible";
import type { Answer } from "@/protocol/commands";
import type { CallPart, Question } from "@/state/thread";

const Editing = lazy(async () => ({ default: (await import("./approval-editing")).ApprovalEditing }));

interface ApprovalQuestionProps {
  question: Question;
  call: CallPart | null;
  /** What was decided, until all is sent. */
  decided: Answer | null;
  busy: boolean;
  onDecide: (answer: Answer) => void;
  onUndo?: (() => void) | undefined;
}

type Mode = "asking" | "editing" | "rejecting";

export function ApprovalQuestion(props: ApprovalQuestionProps): ReactNode {
  const { question, call, decided, busy, onDecide, onUndo } = props;
  const [mode, setMode] = useKeptState<Mode>(`mode ${question.id}`, "asking");
  const [chosen, setChosen] = useState(false);
  const choose = (wanted: Mode) => {
    setChosen(true);
    setMode(wanted);
  };
  const writing = { id: question.id, busy, takesFocus: chosen, onCancel: () => setMode("asking") };
  const args = call?.args || "{}";
  // The editor stays open behind the decision: it is shown again if the answer is refused or undone.
  const decide = (answer: Omit<Answer, "interrupt_id">) => onDecide({ interrupt_id: question.id, ...answer });
  return (
    <div className="flex flex-col gap-3 border-line not-first-of-type:border-t not-first-of-type:pt-4">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <span className="text-sm font-medium wrap-anywhere">
          <ToolTitle name={question.tool || "Tool call"} />
        </span>
        <Expiry at={question.expiresAt} />
      </div>
      {question.message && (
        <p className={cx("text-sm whitespace-pre-wrap wrap-anywhere", !question.input && "text-soft")}>
          {visible(question.message)}
        </p>
      )}
      {decided ? (
        <Decided answer={decided} toTool={question.input !== null} busy={busy} onUndo={onUndo} />
      ) : question.input ? (
        <InputQuestion
          id={question.id}
          tool={question.tool}
          input={question.input}
          busy={busy}
          onDecide={decide}
        />
      ) : mode === "editing" ? (
        <Suspense fallback={<SkeletonRows rows={1} className="h-32" />}>
          <Editing {...writing} args={args} onDecide={decide} />
        </Suspense>
      ) : (
        <>
          <JsonView text={args} label="Arguments" />
          {mode === "rejecting" ? (
            <Rejecting {...writing} onDecide={decide} />
          ) : (
            <div className="flex flex-wrap gap-2">
              <Button look="primary" disabled={busy} onClick={() => decide({ approved: true })}>
                <Check className="size-4" aria-hidden /> Approve
              </Button>
              <Button disabled={busy} onClick={() => choose("editing")}>
                <Pencil className="size-4" aria-hidden /> Edit
              </Button>
              <Button disabled={busy} onClick={() => choose("rejecting")}>
                <X className="size-4" aria-hidden /> Reject
              </Button>
            </div>
          )}
        </>
      )}
    </div>
  );
}

export interface DecidingProps {
  /** Of the question. */
  id: string;
  /** It was chosen just now; what only came back onto the page leaves the focus where it is. */
  takesFocus: boolean;
  busy: boolean;
  onCancel: () => void;
  onDecide: (answer: Omit<Answer, "interrupt_id">) => void;
}

function Rejecting({ id, takesFocus, busy, onCancel, onDecide }: DecidingProps): ReactNode {
  const [reason, setReason] = useKeptState(`reason ${id}`, "");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (takesFocus) input.current?.focus();
  }, [takesFocus]);
  const cancel = () => {
    setReason("");
    onCancel();
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        onDecide({ approved: false, ...(reason.trim() ? { reason: reason.trim() } : {}) });
      }}
    >
      <Field label="Reason" optional hint="The agent sees your reason and continues without this call.">
        {(control) => (
          <Input
            {...control}
            ref={input}
            value={reason}
            maxLength={2_000}
            onChange={(event) => setReason(event.target.value)}
            onKeyDown={(event) => event.key === "Escape" && cancel()}
          />
        )}
      </Field>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="danger" busy={busy}>
          Reject
        </Button>
        <Button look="quiet" onClick={cancel}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

function Decided({
  answer,
  toTool,
  busy,
  onUndo,
}: {
  answer: Answer;
  toTool: boolean;
  busy: boolean;
  onUndo?: (() => void) | undefined;
}): ReactNode {
  const [tone, words] = toTool
    ? ([answer.approved ? "good" : "bad", answer.approved ? "Answered" : "Declined"] as const)
    : !answer.approved
      ? (["bad", "Rejected"] as const)
      : (["good", answer.edited_args ? "Approved with changes" : "Approved"] as const);
  return (
    <div className="flex flex-col gap-2" aria-live="polite">
      <div className="flex flex-wrap items-center gap-2">
        <Badge tone={tone}>{words}</Badge>
        {answer.reason && <span className="min-w-0 text-sm text-soft wrap-anywhere">{answer.reason}</span>}
        {onUndo && (
          <Button size="small" look="quiet" disabled={busy} onClick={onUndo}>
            Change
          </Button>
        )}
      </div>
      {answer.edited_args && <JsonView text={JSON.stringify(answer.edited_args)} label="Changed arguments" />}
    </div>
  );
}

function Expiry({ at }: { at: number | null }): ReactNode {
  const now = useNow(at !== null);
  if (at === null) return null;
  return (
    <span className="text-xs text-soft" title={formatMoment(at)}>
      {at > now ? `expires in ${formatDuration(Math.ceil((at - now) / 1_000) * 1_000)}` : "expired"}
    </span>
  );
}
