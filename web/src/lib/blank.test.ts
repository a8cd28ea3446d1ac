import { expect, test } from "vitest";
import { isBlank } from "./blank";

test.each(["", "  ", "\t\n", "\u200b\u200b", "\u202e \ufeff", "\u00ad"])("%j shows nothing", (text) => {
  expect(isBlank(text)).toBe(true);
});

test.each(["a", " 7 ", "👩‍👧", "\u202eabc", "ש", "·"])("%j shows something", (text) => {
  expect(isBlank(text)).toBe(false);
});
