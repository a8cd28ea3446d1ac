/** The list of chats by day, which loads on as it is scrolled and follows what runs. */
import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { failedRunsQuery, sessionsQuery } from "@/api/queries";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { cx } from "@/lib/class-names";
import type { Sessions } from "@/protocol/api";
import { followMessage } from "./deep-link";
import { groupByDay } from "./session-days";
import { placeOf, SessionItem } from "./session-item";

const SOON_MS = 5_000;
const LATER_MS = 20_000;
/** With more pages than this on show, they are read again less often. */
const FEW_PAGES = 3;

interface SessionListProps {
  search: string;
  agentId: string;
  /** A search of which the first chat is to be opened as soon as it is found; empty if none is. */
  entered: string;
  /** Called when the search is over, with whether it leads to another chat. */
  onOpened: (elsewhere: boolean) => void;
}

export function SessionList({ search, agentId, entered, onOpened }: SessionListProps): ReactNode {
  const open = useParams({ strict: false }).sessionId;
  const sessions = useInfiniteQuery({
    ...sessionsQuery({ search, agentId }),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => intervalFor(query.state.data),
  });
  const failed = useQuery({ ...failedRunsQuery, refetchInterval: LATER_MS }).data;
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = sessions;
  const found = useMemo(() => (data?.pages ?? []).flatMap((page) => page.items), [data]);
  const groups = useMemo(() => groupByDay(found, new Date()), [found]);
  const settled = data !== undefined && !sessions.isPlaceholderData;
  const first = groups[0]?.[1][0];

  const navigate = useNavigate();
  useEffect(() => {
    if (!entered || entered !== search || !settled) return;
    onOpened(first !== undefined && first.id !== open);
    if (!first) return;
    if (first.found) followMessage(first.found.message_id);
    void navigate({ to: "/chat/$sessionId", params: { sessionId: first.id }, ...placeOf(first) });
  }, [entered, search, settled, first, open, navigate, onOpened]);

  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = end.current;
    if (!element || !hasNextPage || isFetchingNextPage) return undefined;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting) void fetchNextPage();
    });
    seen.observe(element);
    return () => seen.disconnect();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);

  return (
    <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-2" aria-busy={search !== "" && !settled}>
      <p role="status" className={cx("px-2.5 text-xs text-soft", search && data && "pt-3")}>
        {search && settled && wordsFor(found.length, hasNextPage)}
      </p>
      {sessions.isPending && <SkeletonRows rows={6} className="h-7" />}
      {sessions.isError && !data && (
        <ProblemNote problem={sessions.error} onRetry={() => void sessions.refetch()} />
      )}
      {groups.map(([day, items]) => (
        <section key={day} aria-label={day}>
          <h2 className="px-2.5 pt-3 pb-1 text-xs font-medium text-soft">{day}</h2>
          <ul className="flex flex-col gap-px">
            {items.map((session) => (
              <SessionItem
                key={session.id}
                session={session}
                open={session.id === open}
                failed={session.last_run_id !== null && (failed?.has(session.last_run_id) ?? false)}
              />
            ))}
          </ul>
        </section>
      ))}
      {settled && !search && groups.length === 0 && (
        <p className="px-2.5 py-4 text-[0.8125rem] text-soft">Your chats will appear here.</p>
      )}
      <div ref={end} className="h-px" />
      {isFetchingNextPage && <SkeletonRows rows={3} className="h-7" />}
    </div>
  );
}

function wordsFor(count: number, more: boolean): string {
  if (count === 0) return "No matching chats.";
  return `${count}${more ? " or more" : ""} ${count === 1 && !more ? "chat" : "chats"} found`;
}

function intervalFor(data: InfiniteData<Sessions> | undefined): number {
  const pages = data?.pages ?? [];
  const active = pages.some((page) =>
    page.items.some(({ state }) => state === "running" || state === "queued"),
  );
  return active && pages.length <= FEW_PAGES ? SOON_MS : LATER_MS;
}
