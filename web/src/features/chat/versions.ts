/** Goes from one version of a turn to another, by its buttons or by Alt and an arrow; the turn keeps its place. */
import { type KeyboardEvent, type RefObject, useCallback, useRef } from "react";
import { isTyping } from "@/lib/shortcuts";
import type { Branch } from "@/protocol/api";
import type { Row } from "./thread-rows";

/** How many frames the rows may take to find their heights. */
const FRAMES = 12;

interface Versions {
  choose: (branch: Branch, leaf: string) => void;
  onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
}

interface Choosing {
  rows: readonly Row[];
  scroller: RefObject<HTMLDivElement | null>;
  /** Lets go of the end of the thread. */
  letGo: () => void;
  choose: (leaf: string) => Promise<void>;
  /** Why none can be chosen now. */
  blocked: string | null;
}

export function useVersions({ rows, scroller, letGo, choose, blocked }: Choosing): Versions {
  const isChoosing = useRef(false);
  const chooseInPlace = useCallback(
    (branch: Branch, leaf: string) => {
      if (isChoosing.current) return;
      isChoosing.current = true;
      const row = () =>
        scroller.current?.querySelector(`[data-row="${CSS.escape(branch.alternatives[0]?.run_id ?? "")}"]`);
      const top = row()?.getBoundingClientRect().top;
      letGo();
      void choose(leaf).finally(() => {
        isChoosing.current = false;
        keep(FRAMES);
      });
      const keep = (frames: number) => {
        const now = row()?.getBoundingClientRect().top;
        if (scroller.current && now !== undefined && top !== undefined)
          scroller.current.scrollTop += now - top;
        if (frames > 0) requestAnimationFrame(() => keep(frames - 1));
      };
    },
    [scroller, letGo, choose],
  );
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (by === 0 || !event.altKey || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
    const branch = branchAt(rows, event.target as Element);
    if (!branch) return;
    event.preventDefault(); // the browser would go back
    const leaf = neighbour(branch, by);
    if (leaf !== null && blocked === null) chooseInPlace(branch, leaf);
  };
  return { choose: chooseInPlace, onKeyDown };
}

/** Which of its versions is shown, from 0 on. */
export function placeIn({ run_id, alternatives }: Branch): number {
  return alternatives.findIndex((other) => other.run_id === run_id);
}

/** The leaf of the version before or after the one that is shown; null if there is none. */
export function neighbour(branch: Branch, by: -1 | 1): string | null {
  return branch.alternatives[placeIn(branch) + by]?.leaf_run_id ?? null;
}

/** The versions of the turn that has the focus, or else of the last turn that has any. */
function branchAt(rows: readonly Row[], focused: Element): Branch | null {
  const index = Number(focused.closest("[data-index]")?.getAttribute("data-index") ?? -1);
  const row = rows[index];
  if (row?.kind === "turn" && row.branch) return row.branch;
  const last = rows.findLast((each) => each.kind === "turn" && each.branch !== null);
  return last?.kind === "turn" ? last.branch : null;
}
