/** Sessions under the days they were last used on, as the reader's calendar has them. */
import type { ListedSession } from "@/protocol/api";

const DAYS = ["Today", "Yesterday", "Previous 7 days", "Older"] as const;
type Day = (typeof DAYS)[number];

export function dayOf(ms: number, now: Date): Day {
  const midnight = (daysAgo: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime();
  if (ms >= midnight(0)) return "Today";
  if (ms >= midnight(1)) return "Yesterday";
  return ms >= midnight(7) ? "Previous 7 days" : "Older";
}

/** Groups sessions by day, in the order they come; a day without any is left out, a session is in one place only. */
export function groupByDay(sessions: readonly ListedSession[], now: Date): [Day, ListedSession[]][] {
  const unique = [...new Map(sessions.map((session) => [session.id, session])).values()];
  return DAYS.flatMap((day): [Day, ListedSession[]][] => {
    const group = unique.filter((session) => dayOf(session.updated_at, now) === day);
    return group.length > 0 ? [[day, group]] : [];
  });
}
