import { expect, test } from "vitest";
import { escapeUnseen, visible } from "./visible";

test.each([
  ["60 line breaks", `ls${"\n".repeat(60)}rm -rf /`, "ls\n[59 blank lines]\nrm -rf /"],
  ["lines of spaces", `ls\n${"  \t\n".repeat(60)}rm`, "ls\n[60 blank lines]\nrm"],
  ["many spaces", `ls${" ".repeat(5_000)}; rm`, "ls [5000 spaces] ; rm"],
  ["wide spaces", `ls${"\u3000".repeat(50)}rm`, "ls [50 spaces] rm"],
  ["a turned direction", "invoice\u202efdp.exe", "invoice\\u202efdp.exe"],
  ["letters without a shape", "a\u3164b\u2800c\u{e0041}d", "a\\u3164b\\u2800c\\udb40\\udc41d"],
  ["paragraphs and indents", "a\n\n  b\n\tc", "a\n\n  b\n\tc"],
])("%s can be seen", (_, text, shown) => {
  expect(visible(text)).toBe(shown);
});

test("escaped JSON is the same value", () => {
  const value = { "a\u202e": "\u{e0041}\u200b\n" };
  const escaped = escapeUnseen(JSON.stringify(value));
  expect(escaped).toMatch(/^[ -~]+$/);
  expect(JSON.parse(escaped)).toEqual(value);
});
