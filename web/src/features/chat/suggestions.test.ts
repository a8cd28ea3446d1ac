import { expect, test } from "vitest";
import { suggestionsFor } from "./suggestions";

test("only what the agent has a tool for is suggested", () => {
  const tried = (...names: string[]) =>
    suggestionsFor({ tools: names.map((name) => ({ name, approval: null })) }).map(({ about }) => about);
  expect(tried("clock", "find_order")).toEqual(["reads the clock", "shows its reasoning"]);
  expect(tried()).toEqual(["shows its reasoning"]);
});
