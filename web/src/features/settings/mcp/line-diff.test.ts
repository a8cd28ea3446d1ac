import { expect, test } from "vitest";
import { differingLines, type Line } from "./line-diff";

const marked = (lines: Line[]) => lines.filter(({ differs }) => differs).map(({ text }) => text);

test("lines that only one text has are marked, whatever stands between them", () => {
  const { before, after } = differingLines("a\nb\nc\nd\ne", "a\nx\nc\ne\nf");
  expect(marked(before)).toEqual(["b", "d"]);
  expect(marked(after)).toEqual(["x", "f"]);
  expect(before.map(({ text }) => text).join("\n")).toBe("a\nb\nc\nd\ne");
});

test("equal texts have no marks, and an added line is the only one", () => {
  expect(marked(differingLines("a\na", "a\na").after)).toEqual([]);
  const { before, after } = differingLines("a\na", "a\na\na");
  expect([marked(before), marked(after)]).toEqual([[], ["a"]]);
});

test("texts too long to compare are marked from the first difference to the last", () => {
  const long = Array.from({ length: 3000 }, (_, at) => `line ${at}`);
  const { after } = differingLines(
    ["top", ...long, "end"].join("\n"),
    ["top", ...long.toReversed(), "end"].join("\n"),
  );
  expect([after[0]?.differs, after[1]?.differs, after.at(-1)?.differs]).toEqual([false, true, false]);
});
