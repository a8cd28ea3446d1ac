import { expect, test } from "vitest";
import { WATCHED, watchNewest } from "./queries";

test("a list is watched until it was paged through", () => {
  expect(watchNewest({ state: { data: undefined } })).toBe(WATCHED.refetchInterval);
  expect(watchNewest({ state: { data: { pages: [1] } } })).toBe(WATCHED.refetchInterval);
  expect(watchNewest({ state: { data: { pages: [1, 2] } } })).toBe(false);
});
