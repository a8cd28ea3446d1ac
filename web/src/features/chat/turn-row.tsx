/** One turn in the list. It is drawn again only when it changes itself. */
import { memo, type ReactNode, useCallback } from "react";
import type { Answer, Content } from "@/protocol/commands";
import type { Asked, Turn } from "@/state/thread";
import { TurnView } from "./messages/turn-view";

export interface TurnRowActions {
  answer: (answers: Answer[]) => Promise<void>;
  retry: (turn: Turn) => void;
  edit: (asked: Asked, content: Content) => Promise<void>;
}

interface TurnRowProps {
  sessionId: string;
  turn: Turn;
  answerable: boolean;
  retryable: boolean;
  actions: TurnRowActions;
  /** The message in it that an address points to. */
  highlighted: string | null;
}

export const TurnRow = memo(function TurnRow(props: TurnRowProps): ReactNode {
  const { sessionId, turn, answerable, retryable, actions, highlighted } = props;
  const retry = useCallback(() => actions.retry(turn), [actions, turn]);
  return (
    <TurnView
      sessionId={sessionId}
      turn={turn}
      live={turn.status === "running"}
      answerable={answerable}
      onAnswer={actions.answer}
      onEdit={actions.edit}
      {...(retryable ? { onRetry: retry } : {})}
      {...(highlighted ? { highlighted } : {})}
    />
  );
});
