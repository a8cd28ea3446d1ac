import { expect, test } from "vitest";
import { isFiltered, readFilter, spanOf } from "./run-filter";

const NOON = new Date(2026, 10, 15, 12, 0).getTime();

test("an address is read back as it was written", () => {
  const filter = { agent: "agt_1", status: "failed", user: "all", period: "week" } as const;
  expect(readFilter(filter)).toEqual(filter);
});

test("what makes no sense in an address is left out", () => {
  const search = {
    agent: {},
    status: "exploded",
    user: "x".repeat(300),
    period: 7,
    from: "yesterday",
    other: "x",
  };
  expect(readFilter(search)).toEqual({});
  expect(isFiltered(readFilter(search))).toBe(false);
});

test("an id that looks like a number is an id", () => {
  expect(readFilter({ user: 42 })).toEqual({ user: "42" });
});

test("the ends of a time count only where the time is between them", () => {
  const ends = { from: "2026-11-15T08:00", to: "2026-11-15T09:30" };
  expect(readFilter({ period: "hour", ...ends })).toEqual({ period: "hour" });
  expect(readFilter({ period: "between", ...ends, to: "2026-99-99T99:99" })).toEqual({
    period: "between",
    from: ends.from,
  });
});

test("a period is a span of milliseconds in local time", () => {
  expect(spanOf({}, NOON)).toEqual({ since: null, until: null });
  expect(spanOf({ period: "hour" }, NOON).since).toBe(NOON - 3_600_000);
  expect(spanOf({ period: "today" }, NOON).since).toBe(new Date(2026, 10, 15).getTime());
  expect(spanOf({ period: "between", from: "2026-11-15T08:00" }, NOON)).toEqual({
    since: new Date(2026, 10, 15, 8).getTime(),
    until: null,
  });
});
