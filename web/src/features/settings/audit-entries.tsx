/** The entries of the audit log: a table, and a list where there is no room for one. */
import type { ReactNode } from "react";
import { formatMoment } from "@/lib/format";
import type { AuditEntryView } from "@/protocol/api";

interface EntriesProps {
  entries: AuditEntryView[];
  nameOf: (user: string) => string;
}

export function AuditTable({ entries, nameOf }: EntriesProps): ReactNode {
  return (
    <section
      className="hidden overflow-x-auto rounded-2xl border border-line bg-raised xl:block"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard, too
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
              <td className="min-w-28 px-3 py-2">
                {whoOf(entry, nameOf)}
                <span className="block text-xs whitespace-nowrap text-soft">{entry.address}</span>
              </td>
              <td className="px-3 py-2 font-mono text-xs leading-5">
                {entry.action}
                <span className="block whitespace-nowrap text-soft">{entry.object}</span>
              </td>
              <td className="min-w-32 py-2 pr-4 pl-3 font-mono text-xs leading-5 wrap-anywhere text-soft">
                <Details entry={entry} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function AuditList({ entries, nameOf }: EntriesProps): ReactNode {
  return (
    <ul
      aria-label="Entries"
      className="divide-y divide-line rounded-2xl border border-line bg-raised text-[0.8125rem] xl:hidden"
    >
      {entries.map((entry) => (
        <li key={entry.number} className="flex flex-col gap-1 px-4 py-3 wrap-anywhere">
          <p className="font-mono text-xs leading-5 font-medium">{entry.action}</p>
          <p>
            {whoOf(entry, nameOf)}
            <span className="text-soft">
              {" · "}
              <time dateTime={new Date(entry.at).toISOString()}>{formatMoment(entry.at)}</time>
              {entry.address && ` · ${entry.address}`}
            </span>
          </p>
          <div className="font-mono text-xs leading-5 text-soft">
            {entry.object && <p>{entry.object}</p>}
            <Details entry={entry} />
          </div>
        </li>
      ))}
    </ul>
  );
}

function Details({ entry: { details } }: { entry: AuditEntryView }): ReactNode {
  return Object.entries(details).map(([name, value]) => (
    <span key={name} className="block">
      {name}: {typeof value === "string" ? value : JSON.stringify(value)}
    </span>
  ));
}

function whoOf({ user }: AuditEntryView, nameOf: (user: string) => string): string {
  return user ? nameOf(user) : "server administrator";
}
