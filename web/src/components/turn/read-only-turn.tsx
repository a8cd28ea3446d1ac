/** A turn without actions: the messages, the parts of the answer, and how it ended. */
import type { ReactNode } from "react";
import type { Turn } from "@/state/thread";
import { AskedContent } from "./asked-content";
import { Parts } from "./parts";
import { TurnEnd } from "./turn-end";

interface ReadOnlyTurnProps {
  turn: Turn;
  /** Reasoning starts unfolded. */
  unfolded?: boolean;
  /** A paused replay shows no sign of work. */
  paused?: boolean;
}

export function ReadOnlyTurn({ turn, unfolded = false, paused = false }: ReadOnlyTurnProps): ReactNode {
  const live = turn.status === "running";
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {turn.asked.map((asked) => (
        <AskedContent key={asked.id} content={asked.content} />
      ))}
      <div className="min-w-0">
        <Parts turn={turn} parts={turn.parts} live={live} asks={false} unfolded={unfolded} />
        <TurnEnd turn={turn} live={live && !paused} />
      </div>
    </div>
  );
}
