/** The runs: what agents did, for whom, how it ended and what it cost. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Activity, SearchX } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { meQuery } from "@/api/queries";
import { Button, buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { formatCount } from "@/lib/format";
import { useNow } from "@/lib/use-now";
import { isFiltered, type RunFilter, readFilter } from "./run-filter";
import { RunFilters } from "./run-filters";
import { RunCards, RunTable } from "./run-list";
import { isGoingOn, runsQuery } from "./run-queries";

export function RunsPage(): ReactNode {
  const search = useSearch({ from: "/inside/runs" });
  const navigate = useNavigate({ from: "/runs" });
  const me = useQuery(meQuery).data;
  const manages = me?.permissions.includes("manage") ?? false;
  const filter = useMemo(
    () => readFilter(manages ? search : { ...search, user: undefined }),
    [search, manages],
  );
  const runs = useInfiniteQuery({ ...runsQuery(filter), enabled: me !== undefined });
  const items = useMemo(() => runs.data?.pages.flatMap((page) => page.items) ?? [], [runs.data]);
  const now = useNow(items.some(isGoingOn));
  const show = (next: RunFilter) => void navigate({ search: { ...next }, replace: true });
  const people = filter.user !== undefined;
  return (
    <Page title="Runs" description="What agents did, step by step, with results and costs." wide>
      {me && <RunFilters me={me} filter={filter} onChange={show} />}
      <p aria-live="polite" className="mb-2 min-h-5 text-[0.8125rem] text-soft">
        {runs.data && items.length > 0 && shownWords(items.length, runs.hasNextPage)}
      </p>
      {runs.isPending && <SkeletonRows rows={8} />}
      {runs.isError && <ProblemNote problem={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.data && items.length === 0 && <NoRuns filter={filter} onClear={() => show({})} />}
      {items.length > 0 && (
        <>
          <RunTable runs={items} now={now} people={people} />
          <RunCards runs={items} now={now} people={people} />
        </>
      )}
      {runs.hasNextPage && (
        <div className="mt-4 flex justify-center">
          <Button busy={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
    </Page>
  );
}

function shownWords(count: number, more: boolean): string {
  const runs = `${formatCount(count)} ${count === 1 ? "run" : "runs"}`;
  return more ? `The newest ${runs}.` : `${runs} shown.`;
}

function NoRuns({ filter, onClear }: { filter: RunFilter; onClear: () => void }): ReactNode {
  if (isFiltered(filter))
    return (
      <Empty
        icon={SearchX}
        title="No matching runs"
        action={<Button onClick={onClear}>Clear filters</Button>}
      >
        No run matches all of these filters.
      </Empty>
    );
  const action = (
    <Link to="/chat" className={buttonClass("primary")}>
      Start a chat
    </Link>
  );
  return (
    <Empty icon={Activity} title="No runs yet" action={action}>
      Every message to an agent starts a run. Send one to see it here.
    </Empty>
  );
}
