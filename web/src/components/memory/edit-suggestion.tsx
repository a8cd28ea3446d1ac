/** Changes a suggestion before it is decided on, and approves it with the changes. */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "@/api/client";
import { approve, refreshMemories } from "@/api/memory-queries";
import type { SuggestionView } from "@/protocol/api";
import { MemoryDialog } from "./memory-dialog";
import { changeOf, valuesOf } from "./memory-form";

interface EditSuggestionProps {
  suggestion: SuggestionView;
  onClose: () => void;
}

export function EditSuggestion({ suggestion, onClose }: EditSuggestionProps): ReactNode {
  const queryClient = useQueryClient();
  const initial = valuesOf(suggestion);
  const save = async (values: typeof initial) => {
    const body = changeOf(initial, values);
    const params = { path: { suggestion_id: suggestion.id } };
    if (body) await api.POST("/api/memory-suggestions/{suggestion_id}/edit", { params, body });
    await approve(suggestion);
    await refreshMemories(queryClient);
  };
  return (
    <MemoryDialog
      title="Edit the suggestion"
      action="Save and approve"
      initial={initial}
      onSave={save}
      onClose={onClose}
    />
  );
}
