/** One turn of a conversation: what was asked, and the answer with all its parts. */
import { memo, type ReactNode, Suspense } from "react";
import { Parts } from "@/components/turn/parts";
import { TurnEnd } from "@/components/turn/turn-end";
import type { Branch } from "@/protocol/api";
import type { Answer } from "@/protocol/commands";
import type { Turn } from "@/state/thread";
import type { TurnActions } from "../turn-actions";
import { ApprovalCard, BranchSwitch } from "./later";
import { answerOf, TurnFoot } from "./turn-foot";
import { UserMessage } from "./user-message";

export { OutgoingMessage } from "./outgoing-message";

export interface TurnViewProps {
  sessionId: string;
  turn: Turn;
  /** The run is in progress and its events arrive. */
  live: boolean;
  /** The questions can be answered. */
  answerable: boolean;
  onAnswer: (answers: Answer[]) => Promise<void>;
  /** The newest turn: its foot is always there to see. */
  last?: boolean;
  onRegenerate?: (model?: string) => void;
  onEdit?: TurnActions["edit"];
  onEditElsewhere?: TurnActions["editElsewhere"];
  /** The versions of this turn; null if it is the only one. */
  branch?: Branch | null;
  onChoose?: (branch: Branch, leaf: string) => void;
  /** Why no branch can be made or chosen now. */
  blocked?: string | null;
  /** The id of a message to mark, with or without `message-` before it. */
  highlighted?: string;
}

export const TurnView = memo(function TurnView(props: TurnViewProps): ReactNode {
  const { sessionId, turn, live, answerable, onAnswer, last = false, blocked = null } = props;
  const { onRegenerate, branch, onChoose } = props;
  const highlighted = props.highlighted?.replace(/^message-/, "");
  const over = !live && turn.status !== "queued" && turn.status !== "running";
  const asks = turn.status === "interrupted" && answerable && turn.questions.length > 0;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {turn.asked.map((asked, at) => (
        <UserMessage
          // The versions of a message are one element, which keeps the focus.
          key={at === turn.asked.length - 1 ? "last" : asked.id}
          sessionId={sessionId}
          runId={turn.runId}
          asked={asked}
          highlighted={asked.id === highlighted}
          blocked={blocked}
          onEdit={props.onEdit}
          onEditElsewhere={props.onEditElsewhere}
        >
          {branch && onChoose && at === turn.asked.length - 1 && (
            <Suspense>
              <BranchSwitch branch={branch} blocked={blocked} onChoose={onChoose} />
            </Suspense>
          )}
        </UserMessage>
      ))}
      <article aria-label="Answer" className="group min-w-0" aria-busy={live || undefined}>
        <h2 className="sr-only">Answer</h2>
        <Parts turn={turn} parts={turn.parts} live={live} asks={asks} highlighted={highlighted} />
        {asks && (
          <Suspense>
            <ApprovalCard turn={turn} onAnswer={onAnswer} />
          </Suspense>
        )}
        <TurnEnd
          turn={turn}
          live={live}
          onRetry={onRegenerate && blocked === null ? () => onRegenerate() : undefined}
        />
        {over && !asks && (answerOf(turn) || turn.parts.length > 0 || turn.error || onRegenerate) && (
          <TurnFoot
            sessionId={sessionId}
            turn={turn}
            last={last}
            blocked={blocked}
            onRegenerate={turn.status === "failed" ? undefined : onRegenerate}
          />
        )}
      </article>
    </div>
  );
});
