/** A suggested memory, with what can be decided on it. */
import { useQuery } from "@tanstack/react-query";
import { Check, Pencil, X } from "lucide-react";
import type { ReactNode } from "react";
import { memoryQuery } from "@/api/memory-queries";
import { Badge } from "@/components/ui/badge";
import { IconButton } from "@/components/ui/button";
import type { SuggestionView } from "@/protocol/api";
import { TYPES } from "./memory-words";

interface SuggestionItemProps {
  suggestion: SuggestionView;
  /** Said of it beside its type. */
  facts?: ReactNode;
  busy: boolean;
  /** The letters are keys while it has the focus. */
  keys?: boolean;
  onApprove: () => void;
  onEdit: () => void;
  onReject: () => void;
}

export function SuggestionItem(props: SuggestionItemProps): ReactNode {
  const { suggestion, facts, busy, keys = false, onApprove, onEdit, onReject } = props;
  const key = (letter: string) => (keys ? { "aria-keyshortcuts": letter } : {});
  return (
    <div className="flex items-start gap-3">
      <div className="min-w-0 flex-1">
        <p className="text-sm whitespace-pre-wrap wrap-anywhere">{suggestion.content}</p>
        <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-soft">
          <Badge>{TYPES[suggestion.memory_type].word}</Badge>
          {facts}
        </div>
        {suggestion.supersedes && <Replaced memoryId={suggestion.supersedes} />}
      </div>
      <div className="flex shrink-0 items-center gap-0.5">
        <IconButton
          label="Approve"
          tip={keys ? "Approve (A)" : undefined}
          disabled={busy}
          onClick={onApprove}
          {...key("a")}
        >
          <Check className="size-4 text-good" aria-hidden />
        </IconButton>
        <IconButton
          label="Edit"
          tip={keys ? "Edit (E)" : undefined}
          disabled={busy}
          onClick={onEdit}
          {...key("e")}
        >
          <Pencil className="size-4" aria-hidden />
        </IconButton>
        <IconButton
          label="Reject"
          tip={keys ? "Reject (R)" : undefined}
          disabled={busy}
          onClick={onReject}
          {...key("r")}
        >
          <X className="size-4 text-bad" aria-hidden />
        </IconButton>
      </div>
    </div>
  );
}

/** What approving it would replace. */
function Replaced({ memoryId }: { memoryId: string }): ReactNode {
  const memory = useQuery(memoryQuery(memoryId)).data;
  if (!memory) return null;
  return (
    <p className="mt-1 text-xs text-soft wrap-anywhere">
      Replaces: <del className="decoration-soft/60">{memory.content}</del>
    </p>
  );
}
