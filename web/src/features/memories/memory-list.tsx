/** The memories that fit the filters, with ways to add, edit and delete them. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { Brain, SearchX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api } from "@/api/client";
import { type MemoryFilter, memoriesQuery, refreshMemories } from "@/api/memory-queries";
import { agentsQuery, meQuery } from "@/api/queries";
import { MemoryDialog } from "@/components/memory/memory-dialog";
import { changeOf, type MemoryValues, valuesOf } from "@/components/memory/memory-form";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Empty } from "@/components/ui/empty";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import { formatCounted } from "@/lib/format";
import type { MemoryView } from "@/protocol/api";
import { isFiltered } from "./memory-filter";
import { MemoryFilters } from "./memory-filters";
import { MemoryRow } from "./memory-row";

interface MemoryListProps {
  filter: MemoryFilter;
  onFilter: (filter: MemoryFilter) => void;
  onAdd: () => void;
}

export function MemoryList({ filter, onFilter, onAdd }: MemoryListProps): ReactNode {
  const memories = useInfiniteQuery({ ...memoriesQuery(filter), refetchOnMount: "always" });
  const agents = useQuery(agentsQuery).data;
  const me = useQuery(meQuery).data;
  const queryClient = useQueryClient();
  const confirm = useConfirm();
  const toast = useToast();
  const [edited, setEdited] = useState<MemoryView | null>(null);
  const items = memories.data?.pages.flatMap((page) => page.items) ?? [];
  const nameOf = (id: string | null) => agents?.find((agent) => agent.id === id)?.name ?? "a deleted agent";

  const remove = async (memory: MemoryView) => {
    const sure = await confirm({
      title: "Delete this memory?",
      message: `“${shortened(memory.content)}” is forgotten for good, with what it replaced.`,
      action: "Delete",
      danger: true,
    });
    if (!sure) return;
    try {
      await api.DELETE("/api/agent-memories/{memory_id}", { params: { path: { memory_id: memory.id } } });
      toast.done("Memory deleted.");
    } catch (thrown) {
      toast.failed(thrown);
    }
    await refreshMemories(queryClient);
  };
  const save = async (memory: MemoryView, values: MemoryValues) => {
    const body = changeOf(valuesOf(memory), values);
    if (!body) return;
    await api.PATCH("/api/agent-memories/{memory_id}", {
      params: { path: { memory_id: memory.id } },
      body,
    });
    toast.done("Memory saved.");
    await refreshMemories(queryClient);
  };
  return (
    <>
      <MemoryFilters filter={filter} onChange={onFilter} />
      <p aria-live="polite" className="mb-2 min-h-5 text-[0.8125rem] text-soft">
        {memories.data && items.length > 0 && shownWords(items.length, memories.hasNextPage, filter.q)}
      </p>
      {memories.isPending && <SkeletonRows rows={6} className="h-18" />}
      {memories.isError && <ProblemNote problem={memories.error} onRetry={() => void memories.refetch()} />}
      {memories.data && items.length === 0 && (
        <NoMemories filter={filter} onClear={() => onFilter({})} onAdd={onAdd} />
      )}
      {items.length > 0 && (
        <ul aria-label="Memories" className="divide-y divide-line rounded-2xl border border-line bg-raised">
          {items.map((memory) => (
            <MemoryRow
              key={memory.id}
              memory={memory}
              agent={nameOf(memory.agent_id)}
              mayChange={memory.scope !== "agent" || (me?.permissions.includes("build") ?? false)}
              user={me?.user ?? ""}
              onEdit={() => setEdited(memory)}
              onDelete={() => void remove(memory)}
            />
          ))}
        </ul>
      )}
      {memories.hasNextPage && (
        <div className="mt-4 flex justify-center">
          <Button busy={memories.isFetchingNextPage} onClick={() => void memories.fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
      {edited && (
        <MemoryDialog
          title="Edit memory"
          action="Save"
          initial={valuesOf(edited)}
          onSave={(values) => save(edited, values)}
          onClose={() => setEdited(null)}
        />
      )}
    </>
  );
}

function shownWords(count: number, more: boolean, q: string | undefined): string {
  const memories = formatCounted(count, "memory", "memories");
  if (q) return `${memories}, best first.`;
  return more ? `The newest ${memories}.` : `${memories} shown.`;
}

const SHOWN_CHARS = 160;

function shortened(text: string): string {
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}

interface NoMemoriesProps {
  filter: MemoryFilter;
  onClear: () => void;
  onAdd: () => void;
}

function NoMemories({ filter, onClear, onAdd }: NoMemoriesProps): ReactNode {
  if (isFiltered(filter))
    return (
      <Empty
        icon={SearchX}
        title="No matching memories"
        action={<Button onClick={onClear}>Clear filters</Button>}
      >
        No memory matches all of these filters.
      </Empty>
    );
  return (
    <Empty
      icon={Brain}
      title="No memories yet"
      action={
        <Button look="primary" onClick={onAdd}>
          Add a memory
        </Button>
      }
    >
      Agents suggest what to remember after a chat, or when you write “Remember that …”. Nothing is remembered
      before you approve it.
    </Empty>
  );
}
