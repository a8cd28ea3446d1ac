/** One turn in the list. It is drawn again only when it changes itself. */
import { memo, type ReactNode, useCallback } from "react";
import type { Branch } from "@/protocol/api";
import type { Turn } from "@/state/thread";
import { TurnView } from "./messages/turn-view";
import type { TurnActions } from "./turn-actions";

interface TurnRowProps {
  sessionId: string;
  turn: Turn;
  answerable: boolean;
  retryable: boolean;
  last: boolean;
  branch: Branch | null;
  /** Why no branch can be made or chosen now. */
  blocked: string | null;
  actions: TurnActions;
  onChoose: (branch: Branch, leaf: string) => void;
  /** The message in it that an address points to. */
  highlighted: string | null;
}

export const TurnRow = memo(function TurnRow(props: TurnRowProps): ReactNode {
  const { turn, retryable, actions, highlighted, ...rest } = props;
  const regenerate = useCallback((model?: string) => void actions.regenerate(turn, model), [actions, turn]);
  return (
    <TurnView
      turn={turn}
      live={turn.status === "running"}
      onAnswer={actions.answer}
      onEdit={actions.edit}
      onEditElsewhere={actions.editElsewhere}
      {...rest}
      {...(retryable ? { onRegenerate: regenerate } : {})}
      {...(highlighted ? { highlighted } : {})}
    />
  );
});
