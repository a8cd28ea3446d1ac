import { expect, test } from "vitest";
import HOSTILE from "@/../e2e/hostile-texts.json";
import { splitBlocks } from "./blocks";
import { BLOCK_SIGNS, costOf, TEXT_SIGNS, withinBudget } from "./budget";

const CHARS = 64_000;
const DEEPER = Array.from({ length: 250 }, (_, depth) => `${"  ".repeat(depth)}- a\n`).join("");
const WIDE = `|${"a|".repeat(1_000)}\n|${"-|".repeat(1_000)}\n`;

test.each([
  ...HOSTILE.map(([before = "", unit = "", after = ""]) => before + unit.repeat(CHARS / unit.length) + after),
  DEEPER,
  WIDE + "|a\n".repeat(20),
])("%.20j gives the parser a bounded number of signs, and loses none", (text) => {
  const pieces = withinBudget(splitBlocks(text));
  const parsed = pieces.filter(({ plain }) => !plain).map(({ text: piece }) => costOf(piece));
  expect(Math.max(0, ...parsed)).toBeLessThanOrEqual(BLOCK_SIGNS);
  expect(parsed.reduce((sum, cost) => sum + cost, 0)).toBeLessThanOrEqual(TEXT_SIGNS);
  expect(pieces.map(({ text: piece }) => piece).join("")).toBe(text);
});

test.each([
  ["delimiters", "*_".repeat(30_000)],
  ["nested lists", DEEPER],
  ["empty cells", WIDE + "|a\n".repeat(20)],
  ["signs after code with other line ends", `~~~\r~~~\r${"*_".repeat(4_000)}`],
])("%s are not parsed", (_, text) => {
  expect(withinBudget(splitBlocks(text))).toEqual([{ text, plain: true }]);
});

test("long code and long prose are parsed, and one bad block leaves the others", () => {
  const code = `\`\`\`js\n${"f(a[0]) * b_c;\n".repeat(3_000)}\`\`\`\n\n`;
  const prose = "Some **bold** words, a [link](https://a.example) and `code`.\n\n".repeat(300);
  const bad = `${"*_".repeat(3_000)}\n\n`;
  const pieces = withinBudget(splitBlocks(code + bad + prose));
  expect(pieces.filter(({ plain }) => plain)).toEqual([{ text: bad, plain: true }]);
});
