/** Who did what in the team, newest first. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ScrollText } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { Button } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Field, Input, Select } from "@/components/ui/field";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { formatMoment } from "@/lib/format";
import { type AuditFilter, auditQuery, membersQuery } from "@/lib/queries";
import type { AuditEntryView, Me } from "@/protocol/api";
import { OnlyFor } from "./only-for";

export function AuditSection({ me }: { me: Me }): ReactNode {
  return (
    <Page
      wide
      title="Audit log"
      description="Who changed what in the team, and when. It has names of fields, and no content."
    >
      {me.permissions.includes("own") ? (
        <Log />
      ) : (
        <OnlyFor whom="owners">
          The audit log says who changed what in the team. Ask one of its owners.
        </OnlyFor>
      )}
    </Page>
  );
}

function Log(): ReactNode {
  const [filter, setFilter] = useState<AuditFilter>({});
  const members = useQuery(membersQuery);
  const log = useInfiniteQuery(auditQuery(filter));
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
          {(control) => (
            <Input {...control} name="action" maxLength={100} placeholder="such as agent.create" />
          )}
        </Field>
        <Field label="Who" className="w-full sm:w-56">
          {(control) => (
            <Select {...control} name="user">
              <option value="">Everybody</option>
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
        <Empty icon={ScrollText} title="Nothing is noted">
          {filter.action || filter.user
            ? "Nobody did this yet. Show less, or everybody."
            : "What people change here is noted."}
        </Empty>
      )}
      {entries.length > 0 && <Entries entries={entries} nameOf={nameOf} />}
      {log.hasNextPage && (
        <div className="mt-4 text-center">
          <Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            Show older ones
          </Button>
        </div>
      )}
    </>
  );
}

function Entries({
  entries,
  nameOf,
}: {
  entries: AuditEntryView[];
  nameOf: (user: string) => string;
}): ReactNode {
  return (
    <section
      className="overflow-x-auto rounded-2xl border border-line bg-raised"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has only a keyboard scrolls it, too
      tabIndex={0}
      aria-label="Entries"
    >
      <table className="w-full text-left text-[0.8125rem]">
        <thead className="border-b border-line text-soft">
          <tr>
            {["When", "Who", "What", "Details"].map((title) => (
              <th
                key={title}
                scope="col"
                className="px-3 py-2 font-medium whitespace-nowrap first:pl-4 last:pr-4"
              >
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {entries.map((entry) => (
            <tr key={entry.number} className="align-top">
              <td className="py-2 pr-3 pl-4 whitespace-nowrap text-soft">{formatMoment(entry.at)}</td>
              <td className="min-w-36 px-3 py-2">
                {entry.user ? nameOf(entry.user) : "the operator"}
                <span className="block text-xs whitespace-nowrap text-soft">{entry.address}</span>
              </td>
              <td className="px-3 py-2 font-mono text-xs leading-5">
                {entry.action}
                <span className="block whitespace-nowrap text-soft">{entry.object}</span>
              </td>
              <td className="min-w-40 py-2 pr-4 pl-3 font-mono text-xs leading-5 wrap-anywhere text-soft">
                {Object.entries(entry.details).map(([name, value]) => (
                  <span key={name} className="block">
                    {name}: {typeof value === "string" ? value : JSON.stringify(value)}
                  </span>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
