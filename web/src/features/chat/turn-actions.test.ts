/** What a chat's copy is called. */
import { expect, test } from "vitest";
import { copyTitle } from "./turn-actions";

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

test.each([
  ["👨\u200d👩\u200d👧\u200d👦", 27],
  ["👍🏽", 95],
  ["🇦🇹", 95],
  ["e\u0301\u0302", 63],
])("nothing that is seen as one is cut in two: %s", (one, times) => {
  expect(copyTitle(one.repeat(200))).toBe(`${one.repeat(times)} (copy)`);
});

test("a title that is all one character is cut anyway", () => {
  expect(copyTitle(`e${"\u0301".repeat(300)}`)).toBe(`e${"\u0301".repeat(189)} (copy)`);
});
