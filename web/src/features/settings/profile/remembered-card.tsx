/** What agents remember of the person: how much, all of it as a file, and a way to forget it. */
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api, data } from "@/api/client";
import { memoriesQuery, refreshMemories, suggestionsQuery } from "@/api/memory-queries";
import { TYPES } from "@/components/memory/memory-words";
import { Badge } from "@/components/ui/badge";
import { Button, buttonClass } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Card } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import { formatCounted } from "@/lib/format";

const SHOWN = 5;

export function RememberedCard(): ReactNode {
  const memories = useInfiniteQuery({ ...memoriesQuery(), refetchOnMount: "always" });
  const suggestions = useInfiniteQuery({ ...suggestionsQuery(), refetchOnMount: "always" });
  const queryClient = useQueryClient();
  const confirm = useConfirm();
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const items = memories.data?.pages.flatMap((page) => page.items) ?? [];
  const waiting = suggestions.data?.pages.flatMap((page) => page.items).length ?? 0;

  const forget = async () => {
    const sure = await confirm({
      title: "Forget everything about you?",
      message:
        "All memories of you and all suggestions are permanently deleted, in this team. Agents no longer find your past chats; the chats themselves stay. You cannot undo this.",
      action: "Forget everything",
      danger: true,
    });
    if (!sure) return;
    setBusy(true);
    try {
      const { memories: count } = await data(api.DELETE("/api/me/memories"));
      toast.done(`${formatCounted(count, "memory", "memories")} forgotten.`);
    } catch (thrown) {
      toast.failed(thrown);
    } finally {
      setBusy(false);
    }
    await refreshMemories(queryClient);
  };
  return (
    <Card title="What agio remembers about you">
      <p className="mb-4 text-sm text-soft">
        What agents remember from your chats, in this team only. Nothing is remembered before you approve it,
        unless an agent's memory is automatic.
      </p>
      {memories.isPending && <SkeletonRows rows={2} />}
      {memories.isError && <ProblemNote problem={memories.error} onRetry={() => void memories.refetch()} />}
      {memories.data && items.length === 0 && <p className="mb-4 text-sm text-soft">Nothing yet.</p>}
      {items.length > 0 && (
        <ul className="mb-4 flex flex-col gap-2">
          {items.slice(0, SHOWN).map((memory) => (
            <li key={memory.id} className="flex items-baseline gap-2 text-sm">
              <Badge>{TYPES[memory.memory_type].word}</Badge>
              <span className="min-w-0 flex-1 line-clamp-2 wrap-anywhere">{memory.content}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Link to="/memories" className={buttonClass()}>
          {items.length > SHOWN || memories.hasNextPage ? "View all memories" : "View memories"}
        </Link>
        {waiting > 0 && (
          <Link to="/memories" search={{ view: "suggestions" }} className={buttonClass("quiet")}>
            {formatCounted(waiting, "suggestion")} to decide
          </Link>
        )}
        <a href="/api/me/memories/export" download="memories.json" className={buttonClass()}>
          <Download className="size-4" aria-hidden /> Export as JSON
        </a>
        <Button busy={busy} className="text-bad!" onClick={() => void forget()}>
          Forget everything
        </Button>
      </div>
    </Card>
  );
}
