/** What a chat's copy is called. */
import { expect, test } from "vitest";
import { copyTitle } from "./branching";

test("a copy says so once, however often it is copied", () => {
  expect(copyTitle("Otters")).toBe("Otters (copy)");
  expect(copyTitle(copyTitle("Otters"))).toBe("Otters (copy)");
  expect(copyTitle("(copy) of a letter")).toBe("(copy) of a letter (copy)");
});

test("a long title leaves room for it, and no character is cut in half", () => {
  const title = copyTitle("🦦".repeat(200));
  expect(title).toBe(`${"🦦".repeat(190)} (copy)`);
  expect([...title].length).toBeLessThanOrEqual(200);
});
