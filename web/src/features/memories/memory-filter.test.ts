import { expect, test } from "vitest";
import { isFiltered, readSearch } from "./memory-filter";

test("an address says what is looked at; what makes no sense in it is left out", () => {
  expect(
    readSearch({ view: "suggestions", agent: "agt_1", type: "fact", scope: "agent", q: " tea " }),
  ).toEqual({
    view: "suggestions",
    agent: "agt_1",
    type: "fact",
    scope: "agent",
    q: "tea",
  });
  expect(readSearch({ view: "all", agent: {}, type: "rumour", scope: "all", q: "x".repeat(201) })).toEqual(
    {},
  );
});

test("what a team shares is listed by agent only", () => {
  expect(readSearch({ scope: "agent" })).toEqual({});
  expect(readSearch({ scope: "user" })).toEqual({ scope: "user" });
});

test("a view is no filter", () => {
  expect(isFiltered(readSearch({ view: "suggestions" }))).toBe(false);
  expect(isFiltered(readSearch({ q: "tea" }))).toBe(true);
});
