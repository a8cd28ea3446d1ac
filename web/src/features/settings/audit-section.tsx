/** Who did what in the team, newest first. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ScrollText } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { WATCHED, watchNewest } from "@/api/queries";
import { type AuditFilter, auditQuery, membersQuery } from "@/api/team-queries";
import { Button } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Field, Input, Select } from "@/components/ui/field";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { AuditList, AuditTable } from "./audit-entries";

export function AuditSection(): ReactNode {
  return (
    <Page
      wide
      title="Audit log"
      description="Who changed what in the team, and when. Records field names, not values."
    >
      <Log />
    </Page>
  );
}

function Log(): ReactNode {
  const [filter, setFilter] = useState<AuditFilter>({});
  const members = useQuery(membersQuery);
  const log = useInfiniteQuery({ ...auditQuery(filter), ...WATCHED, refetchInterval: watchNewest });
  const entries = log.data?.pages.flatMap(({ items }) => items) ?? [];
  const nameOf = (user: string) => members.data?.find((member) => member.user === user)?.name ?? user;
  const find = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const action = String(given.get("action") ?? "").trim();
    const user = String(given.get("user") ?? "");
    setFilter({ ...(action ? { action } : {}), ...(user ? { user } : {}) });
  };
  return (
    <>
      <form onSubmit={find} className="mb-5 flex flex-wrap items-end gap-3">
        <Field label="What" className="w-full sm:w-56">
          {(control) => <Input {...control} name="action" maxLength={100} placeholder="e.g. agent.create" />}
        </Field>
        <Field label="Who" className="w-full sm:w-56">
          {(control) => (
            <Select {...control} name="user">
              <option value="">Everyone</option>
              {members.data?.map(({ user, name }) => (
                <option key={user} value={user}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Button type="submit">Show</Button>
      </form>
      {log.isPending && <SkeletonRows rows={8} className="h-9" />}
      {log.isError && <ProblemNote problem={log.error} onRetry={() => void log.refetch()} />}
      {log.data && entries.length === 0 && (
        <Empty icon={ScrollText} title="No entries">
          {filter.action || filter.user
            ? "No entries match these filters."
            : "Changes in this team are recorded here."}
        </Empty>
      )}
      {entries.length > 0 && (
        <>
          <AuditTable entries={entries} nameOf={nameOf} />
          <AuditList entries={entries} nameOf={nameOf} />
        </>
      )}
      {log.hasNextPage && (
        <div className="mt-4 text-center">
          <Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            Show older entries
          </Button>
        </div>
      )}
    </>
  );
}
