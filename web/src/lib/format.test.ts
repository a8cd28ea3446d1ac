import { expect, test } from "vitest";
import { formatCost, formatCounted, formatDuration, tellCostsIn } from "./format";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  [-5, "0 ms"],
  [320, "320 ms"],
  [4_200, "4.2 s"],
  [9_960, "10 s"],
  [42_000, "42 s"],
  [MINUTE - 1, "1 min 0 s"],
  [2 * MINUTE - 1, "2 min 0 s"],
  [2 * MINUTE + 5_000, "2 min 5 s"],
  [HOUR + 3 * MINUTE, "1 h 3 min"],
  [47 * HOUR + 59 * MINUTE, "47 h 59 min"],
  [48 * HOUR, "2 d 0 h"],
  [167 * HOUR + 59 * MINUTE, "6 d 23 h"],
])("%i ms are %s", (ms, words) => {
  expect(formatDuration(ms)).toBe(words);
});

test("one is not many", () => {
  expect([0, 1, 2].map((count) => formatCounted(count, "event"))).toEqual([
    "0 events",
    "1 event",
    "2 events",
  ]);
});

test.each([
  ["USD", 0, "$0.00"],
  ["USD", 0.00561, "$0.0056"],
  ["EUR", 0.1234, "€0.123"],
  ["EUR", 1.239, "€1.24"],
  ["JPY", 12, "¥12"],
])("costs have a currency: %s %d", (code, cost, words) => {
  tellCostsIn(code);
  expect(formatCost(cost)).toBe(words);
  tellCostsIn("USD");
});
