/** One turn of a conversation: what was asked, and the answer with all its parts. */
import { memo, type ReactNode } from "react";
import { Parts } from "@/components/turn/parts";
import { TurnEnd } from "@/components/turn/turn-end";
import type { Answer, Content } from "@/protocol/commands";
import type { Asked, Turn } from "@/state/thread";
import { ApprovalCard } from "./approval-card";
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
  onRetry?: () => void;
  onEdit?: (asked: Asked, content: Content) => Promise<void>;
  /** The id of a message to mark, with or without `message-` before it. */
  highlighted?: string;
}

export const TurnView = memo(function TurnView(props: TurnViewProps): ReactNode {
  const { turn, live, answerable, onAnswer, onRetry, onEdit } = props;
  const highlighted = props.highlighted?.replace(/^message-/, "");
  const over = !live && turn.status !== "queued" && turn.status !== "running";
  const asks = turn.status === "interrupted" && answerable && turn.questions.length > 0;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {turn.asked.map((asked) => (
        <UserMessage key={asked.id} asked={asked} highlighted={asked.id === highlighted} onEdit={onEdit} />
      ))}
      <article aria-label="Answer" className="group min-w-0" aria-busy={live || undefined}>
        <h2 className="sr-only">Answer</h2>
        <Parts turn={turn} parts={turn.parts} live={live} asks={asks} highlighted={highlighted} />
        {asks && <ApprovalCard turn={turn} onAnswer={onAnswer} />}
        <TurnEnd turn={turn} live={live} onRetry={onRetry} />
        {over && !asks && (answerOf(turn) || turn.parts.length > 0 || turn.error || onRetry) && (
          <TurnFoot
            turn={turn}
            last={onRetry !== undefined}
            onRetry={turn.status === "failed" ? undefined : onRetry}
          />
        )}
      </article>
    </div>
  );
});
