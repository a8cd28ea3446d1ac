/** Which of a turn's versions is shown, and the way to the others: `‹ 1/2 ›`. */
import { ChevronLeft, ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { IconButton } from "@/components/ui/button";
import type { Branch } from "@/protocol/api";
import { neighbour, placeIn } from "../versions";

interface BranchSwitchProps {
  branch: Branch;
  /** Why none can be chosen now. */
  blocked: string | null;
  onChoose: (branch: Branch, leaf: string) => void;
}

export function BranchSwitch({ branch, blocked, onChoose }: BranchSwitchProps): ReactNode {
  const all = branch.alternatives.length;
  const at = placeIn(branch);
  const step = (by: -1 | 1, label: string, keys: string, icon: ReactNode) => {
    const leaf = neighbour(branch, by);
    return (
      <IconButton
        label={label}
        tip={`${label} (${keys})`}
        unavailable={blocked ?? (leaf === null ? "There are no more versions." : null)}
        onClick={() => leaf !== null && onChoose(branch, leaf)}
      >
        {icon}
      </IconButton>
    );
  };
  return (
    <fieldset className="flex min-w-0 items-center">
      <legend className="sr-only">Versions</legend>
      {step(-1, "Previous version", "Alt+←", <ChevronLeft className="size-4" aria-hidden />)}
      <span className="text-xs tabular-nums" role="status">
        <span className="sr-only">Version </span>
        {at + 1}
        <span aria-hidden>/</span>
        <span className="sr-only"> of </span>
        {all}
      </span>
      {step(1, "Next version", "Alt+→", <ChevronRight className="size-4" aria-hidden />)}
    </fieldset>
  );
}
