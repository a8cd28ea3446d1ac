/** What agents remember of the person, and the inbox of what they would like to remember. */
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { api } from "@/api/client";
import { type MemoryFilter, refreshMemories, suggestionsQuery } from "@/api/memory-queries";
import { MemoryDialog } from "@/components/memory/memory-dialog";
import { bodyOf, type MemoryValues, NEW_MEMORY } from "@/components/memory/memory-form";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Page } from "@/components/ui/page";
import { Tabs } from "@/components/ui/tabs";
import { useToast } from "@/components/ui/toast";
import { readSearch } from "./memory-filter";
import { MemoryList } from "./memory-list";
import { SuggestionInbox } from "./suggestion-inbox";

export function MemoriesPage(): ReactNode {
  const search = useSearch({ from: "/inside/memories" });
  const navigate = useNavigate({ from: "/memories" });
  const queryClient = useQueryClient();
  const toast = useToast();
  const [adding, setAdding] = useState(false);
  const { view = "memories", ...filter } = useMemo(() => readSearch(search), [search]);
  const show = (next: MemoryFilter) => void navigate({ search: { ...next }, replace: true });
  const add = async (values: MemoryValues) => {
    const params = { path: { agent_id: values.agent_id } };
    await api.POST("/api/agents/{agent_id}/memories", { params, body: bodyOf(values) });
    toast.done("Memory added.");
    await refreshMemories(queryClient);
  };
  const tabs = [
    {
      id: "memories",
      title: "Memories",
      content: <MemoryList filter={filter} onFilter={show} onAdd={() => setAdding(true)} />,
    },
    { id: "suggestions", title: <SuggestionsTitle />, content: <SuggestionInbox /> },
  ];
  return (
    <Page
      title="Memories"
      description="What agents remember from one chat to the next. You decide what they keep."
      actions={
        <Button look="primary" onClick={() => setAdding(true)}>
          <Plus className="size-4" aria-hidden /> Add a memory
        </Button>
      }
    >
      <Tabs
        label="Memories and suggestions"
        tabs={tabs}
        value={view}
        onChange={(id) => void navigate({ search: id === "suggestions" ? { view: id } : {}, replace: true })}
      />
      {adding && (
        <MemoryDialog
          title="Add a memory"
          action="Add"
          initial={{ ...NEW_MEMORY, agent_id: filter.agent ?? "" }}
          choosesAgent
          onSave={add}
          onClose={() => setAdding(false)}
        />
      )}
    </Page>
  );
}

function SuggestionsTitle(): ReactNode {
  const pages = useInfiniteQuery(suggestionsQuery()).data?.pages;
  const count = pages?.reduce((sum, page) => sum + page.items.length, 0) ?? 0;
  const more = pages?.at(-1)?.next ? "+" : "";
  return (
    <span className="flex items-center gap-1.5">
      Suggestions
      {count > 0 && (
        <Badge tone="accent">
          {count}
          {more}
        </Badge>
      )}
    </span>
  );
}
