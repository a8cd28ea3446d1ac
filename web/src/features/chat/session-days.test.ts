import { expect, test } from "vitest";
import type { ListedSession } from "@/protocol/api";
import { dayOf, groupByDay } from "./session-days";

const NOW = new Date(2026, 2, 30, 9, 30);
const at = (day: number, hour: number, minute = 0) => new Date(2026, 2, day, hour, minute).getTime();

const session = (id: string, updated: number): ListedSession => ({
  id,
  agent_id: "agt_1",
  active_agent: null,
  agent_name: "demo",
  title: id,
  on_busy: "queue",
  state: "idle",
  pending: [],
  created_at: updated,
  updated_at: updated,
  last_run_id: null,
  leaf_run_id: null,
  branched: false,
  last_pos: 0,
  seen_pos: 0,
  forked_from: null,
  found: null,
});

test("a day begins at the reader's midnight", () => {
  expect(dayOf(at(30, 0), NOW)).toBe("Today");
  expect(dayOf(at(30, 0) - 1, NOW)).toBe("Yesterday");
  expect(dayOf(at(29, 0) - 1, NOW)).toBe("Previous 7 days");
});

test("a week back is the last of the previous seven days, whatever the clocks did in between", () => {
  expect(dayOf(at(23, 0), NOW)).toBe("Previous 7 days");
  expect(dayOf(at(23, 0) - 1, NOW)).toBe("Older");
});

test("what is dated ahead of this clock is of today", () => {
  expect(dayOf(at(30, 23), NOW)).toBe("Today");
});

test("groups keep the order of the list and leave out days without sessions", () => {
  const groups = groupByDay([session("a", at(30, 9)), session("b", at(30, 8)), session("c", at(2, 8))], NOW);
  expect(groups.map(([day, sessions]) => [day, sessions.map(({ id }) => id)])).toEqual([
    ["Today", ["a", "b"]],
    ["Older", ["c"]],
  ]);
});

test("a session that two pages have is shown once", () => {
  const groups = groupByDay([session("a", at(30, 9)), session("a", at(30, 9))], NOW);
  expect(groups).toHaveLength(1);
  expect(groups[0]?.[1]).toHaveLength(1);
});
