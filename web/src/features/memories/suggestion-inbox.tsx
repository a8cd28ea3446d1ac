/** The suggestions that wait for a decision, by chat. A keyboard is enough to go through them. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Inbox } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { suggestionsQuery } from "@/api/memory-queries";
import { agentsQuery, sessionQuery, watchNewest } from "@/api/queries";
import { EditSuggestion } from "@/components/memory/edit-suggestion";
import { importanceWords, scopeWords } from "@/components/memory/memory-words";
import { SuggestionItem } from "@/components/memory/suggestion-item";
import { useDeciding } from "@/components/memory/use-deciding";
import { Button } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { formatAgo } from "@/lib/format";
import type { SuggestionView } from "@/protocol/api";
import { bySession, keyOf, neighbour } from "./inbox";

export function SuggestionInbox(): ReactNode {
  const suggestions = useInfiniteQuery({
    ...suggestionsQuery(),
    refetchInterval: watchNewest,
    refetchOnMount: "always",
  });
  const agents = useQuery(agentsQuery).data;
  const deciding = useDeciding();
  const box = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState("");
  const [edited, setEdited] = useState<SuggestionView | null>(null);
  const items = suggestions.data?.pages.flatMap((page) => page.items) ?? [];
  const groups = bySession(items);
  const order = groups.flatMap((group) => group.items);
  const stop = order.some(({ id }) => id === current) ? current : order[0]?.id;

  const focus = (id: string | undefined) => {
    if (id === undefined) return;
    setCurrent(id);
    box.current?.querySelector<HTMLElement>(`[data-suggestion="${id}"]`)?.focus();
  };
  /** Decides, and goes on to the next one, which takes the place. */
  const decide = (suggestion: SuggestionView, act: (suggestion: SuggestionView) => Promise<void>) => {
    const held = box.current?.contains(document.activeElement);
    const next = neighbour(order, suggestion.id, 1) ?? neighbour(order, suggestion.id, -1);
    if (held) focus(next?.id);
    void act(suggestion);
  };
  const onKeyDown = (event: React.KeyboardEvent, suggestion: SuggestionView) => {
    if (event.target !== event.currentTarget) return;
    const act = keyOf(event);
    if (!act) return;
    event.preventDefault();
    if (act === "next" || act === "previous")
      focus(neighbour(order, suggestion.id, act === "next" ? 1 : -1)?.id);
    else if (deciding.busy.has(suggestion.id)) return;
    else if (act === "edit") setEdited(suggestion);
    else if (act === "approve") decide(suggestion, deciding.approve);
    else if (act === "reject") decide(suggestion, deciding.reject);
    else if (suggestion.session_id) void deciding.approveAll(suggestion.session_id);
  };

  if (suggestions.isPending) return <SkeletonRows rows={4} className="h-18" />;
  if (!suggestions.data)
    return <ProblemNote problem={suggestions.error} onRetry={() => void suggestions.refetch()} />;
  if (items.length === 0)
    return (
      <Empty icon={Inbox} title="Nothing to decide">
        What agents would like to remember waits here until you approve or reject it. No agent sees it before.
      </Empty>
    );
  return (
    <div ref={box} className="flex flex-col gap-6">
      <div className="text-[0.8125rem] text-soft">
        <p>No agent sees these before you approve them.</p>
        <Keys />
      </div>
      {groups.map(({ sessionId, items: waiting }) => (
        <div key={sessionId}>
          <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1">
            <h2 className="min-w-0 flex-1 truncate text-sm font-semibold">
              <ChatTitle sessionId={sessionId} />
            </h2>
            {sessionId && waiting.length > 1 && (
              <Button
                size="small"
                busy={deciding.busy.has(sessionId)}
                onClick={() => void deciding.approveAll(sessionId)}
              >
                Approve all of this chat
              </Button>
            )}
          </div>
          <ul className="divide-y divide-line rounded-2xl border border-line bg-raised">
            {waiting.map((suggestion) => (
              <li
                key={suggestion.id}
                data-suggestion={suggestion.id}
                tabIndex={suggestion.id === stop ? 0 : -1}
                onKeyDown={(event) => onKeyDown(event, suggestion)}
                onFocus={(event) => event.target === event.currentTarget && setCurrent(suggestion.id)}
                className="px-4 py-3.5 first:rounded-t-2xl last:rounded-b-2xl focus-visible:bg-hover/60 focus-visible:-outline-offset-2 sm:px-5"
              >
                <SuggestionItem
                  suggestion={suggestion}
                  busy={deciding.busy.has(suggestion.id)}
                  keys
                  facts={
                    <>
                      <span>For {scopeWords(suggestion.scope, nameOf(agents, suggestion.agent_id))}</span>
                      <span>Importance {importanceWords(suggestion.importance)}</span>
                      <span>{formatAgo(suggestion.created_at)}</span>
                    </>
                  }
                  onApprove={() => decide(suggestion, deciding.approve)}
                  onEdit={() => setEdited(suggestion)}
                  onReject={() => decide(suggestion, deciding.reject)}
                />
              </li>
            ))}
          </ul>
        </div>
      ))}
      {suggestions.hasNextPage && (
        <div className="flex justify-center">
          <Button busy={suggestions.isFetchingNextPage} onClick={() => void suggestions.fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
      {edited && <EditSuggestion suggestion={edited} onClose={() => setEdited(null)} />}
    </div>
  );
}

function nameOf(agents: readonly { id: string; name: string }[] | undefined, id: string): string {
  return agents?.find((agent) => agent.id === id)?.name ?? "a deleted agent";
}

const KEYS: [keys: string[], what: string][] = [
  [["↓", "↑"], "move"],
  [["A"], "approve"],
  [["E"], "edit"],
  [["R"], "reject"],
  [["Shift", "A"], "approve all of the chat"],
];

function Keys(): ReactNode {
  return (
    <ul
      aria-label="Keys"
      className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs pointer-coarse:hidden max-sm:hidden"
    >
      {KEYS.map(([keys, what]) => (
        <li key={what} className="flex items-center gap-1">
          {keys.map((key) => (
            <kbd key={key} className="rounded-md border border-line bg-panel px-1.5 py-0.5 font-mono">
              {key}
            </kbd>
          ))}
          {what}
        </li>
      ))}
    </ul>
  );
}

function ChatTitle({ sessionId }: { sessionId: string }): ReactNode {
  const session = useQuery({ ...sessionQuery(sessionId), enabled: sessionId !== "" }).data;
  if (!sessionId) return "Without a chat";
  return (
    <Link
      to="/chat/$sessionId"
      params={{ sessionId }}
      className="rounded-sm underline decoration-line underline-offset-2 hover:decoration-current"
    >
      {session?.title || "Chat"}
    </Link>
  );
}
