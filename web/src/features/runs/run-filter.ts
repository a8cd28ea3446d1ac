/** Which runs are looked at, as the address of the page says it. */
import type { RunView } from "@/protocol/api";

export type RunStatus = RunView["status"];
type Period = "hour" | "today" | "week" | "between";

export interface RunFilter {
  agent?: string;
  status?: RunStatus;
  /** A user's id, or `all`; left out: one's own. */
  user?: string;
  period?: Period;
  /** The ends of `between`, as a field of date and time has them: local, without a zone. */
  from?: string;
  to?: string;
}

export const STATUSES: readonly RunStatus[] = [
  "queued",
  "running",
  "completed",
  "failed",
  "cancelled",
  "interrupted",
  "expired",
];
const PERIODS: readonly Period[] = ["hour", "today", "week", "between"];
const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
const LONGEST_ID = 200;

/** Reads an address. What makes no sense in it is left out, since anybody can write one. */
export function readFilter(search: Readonly<Record<string, unknown>>): RunFilter {
  const status = STATUSES.find((known) => known === search.status);
  const period = PERIODS.find((known) => known === search.period);
  const filter: RunFilter = {};
  const agent = idOf(search.agent);
  const user = idOf(search.user);
  if (agent) filter.agent = agent;
  if (status) filter.status = status;
  if (user) filter.user = user;
  if (period) filter.period = period;
  if (period === "between") {
    if (momentOf(search.from) !== null) filter.from = String(search.from);
    if (momentOf(search.to) !== null) filter.to = String(search.to);
  }
  return filter;
}

/** Whether anything is left out of the list. */
export const isFiltered = (filter: RunFilter): boolean => Object.keys(filter).length > 0;

/** The time a filter is about, from `since` on and before `until`, in milliseconds. */
export function spanOf(filter: RunFilter, now: number): { since: number | null; until: number | null } {
  switch (filter.period) {
    case "hour":
      return { since: now - HOUR_MS, until: null };
    case "today":
      return { since: new Date(now).setHours(0, 0, 0, 0), until: null };
    case "week":
      return { since: now - WEEK_MS, until: null };
    case "between":
      return { since: momentOf(filter.from), until: momentOf(filter.to) };
    default:
      return { since: null, until: null };
  }
}

function idOf(value: unknown): string | undefined {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  return text.length > 0 && text.length <= LONGEST_ID ? text : undefined;
}

function momentOf(value: unknown): number | null {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) || ms < 0 ? null : ms;
}
