/** The card at the end of a chat with the memories that were suggested in it. */
import { Link } from "@tanstack/react-router";
import { Brain } from "lucide-react";
import { type ReactNode, useState } from "react";
import { EditSuggestion } from "@/components/memory/edit-suggestion";
import { SuggestionItem } from "@/components/memory/suggestion-item";
import { useDeciding } from "@/components/memory/use-deciding";
import { Button } from "@/components/ui/button";
import { suggestedWords } from "@/lib/notice-words";
import type { SuggestionView } from "@/protocol/api";

const SHOWN = 3;

interface SuggestedMemoriesProps {
  sessionId: string;
  suggestions: readonly SuggestionView[];
}

export function SuggestedMemories({ sessionId, suggestions }: SuggestedMemoriesProps): ReactNode {
  const deciding = useDeciding();
  const [edited, setEdited] = useState<SuggestionView | null>(null);
  const left = suggestions.length - SHOWN;
  return (
    <section
      aria-label="Suggested memories"
      className="animate-fade-in rounded-2xl border border-line bg-panel px-4 py-3"
    >
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <h2 className="flex min-w-0 flex-1 items-center gap-2 text-[0.8125rem] font-medium text-soft">
          <Brain className="size-4 shrink-0" aria-hidden />
          {suggestedWords(suggestions.length)}
        </h2>
        {suggestions.length > 1 && (
          <Button
            look="quiet"
            size="small"
            busy={deciding.busy.has(sessionId)}
            onClick={() => void deciding.approveAll(sessionId)}
          >
            Approve all
          </Button>
        )}
      </div>
      <ul className="divide-y divide-line">
        {suggestions.slice(0, SHOWN).map((suggestion) => (
          <li key={suggestion.id} className="py-2.5">
            <SuggestionItem
              suggestion={suggestion}
              busy={deciding.busy.has(suggestion.id)}
              onApprove={() => void deciding.approve(suggestion)}
              onEdit={() => setEdited(suggestion)}
              onReject={() => void deciding.reject(suggestion)}
            />
          </li>
        ))}
      </ul>
      {left > 0 && (
        <p className="border-t border-line pt-2.5 text-[0.8125rem] text-soft">
          And {left} more.{" "}
          <Link
            to="/memories"
            search={{ view: "suggestions" }}
            className="text-accent-text underline-offset-2 hover:underline"
          >
            Review all
          </Link>
        </p>
      )}
      {edited && <EditSuggestion suggestion={edited} onClose={() => setEdited(null)} />}
    </section>
  );
}
