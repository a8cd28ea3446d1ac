import { expect, test } from "vitest";
import { checkJson, schemaCheck } from "./json-check";
import { printJson, readJson } from "./json-text";

test.each([
  ["", 1, 1, "Enter a value"],
  ["{", 1, 2, 'in "quotes"'],
  ['{"a": 1,}', 1, 9, "Remove the comma"],
  ['{"a" 1}', 1, 6, "colon"],
  ['{\n  "a": 1\n  "b": 2\n}', 3, 3, "comma or }"],
  ["[1 2]", 1, 4, "comma or ]"],
  ["[1,]", 1, 4, "Remove the comma"],
  ['{"a": "x', 1, 9, "closing"],
  ['["a\nb"]', 1, 4, "closing"],
  ['["\\x"]', 1, 3, "escape"],
  ["{'a': 1}", 1, 2, "quotes"],
  ["['a']", 1, 2, "double quotes"],
  ["1 2", 1, 3, "extra text"],
  ["nul", 1, 1, "a JSON value"],
  ["01", 1, 2, "extra text"],
])("%j is told to be wrong where it is", (text, line, column, words) => {
  const reading = readJson(text);
  expect(reading).toMatchObject({ problem: { line, column, message: expect.stringContaining(words) } });
});

test("what JSON.parse takes is read, and what it refuses is refused", () => {
  const texts = [
    '{"a":[1,-2.5e3,"é\\n\\u00e9",true,false,null,{}],"b":{}}',
    "[]",
    " 1 ",
    '"x"',
    "-",
    "+1",
    "[,]",
    "{}x",
    "tru",
    "1.",
  ];
  for (const text of texts) {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      expect(readJson(text)).toHaveProperty("problem");
      continue;
    }
    const reading = readJson(text);
    expect("node" in reading && JSON.parse(printJson(reading.node))).toEqual(parsed);
  }
});

test("long numbers and repeated keys stay as they are written", () => {
  const reading = readJson('{"id":12345678901234567890,"id":1.10}');
  expect("node" in reading && printJson(reading.node)).toBe(
    '{\n  "id": 12345678901234567890,\n  "id": 1.10\n}',
  );
});

test("a text nested without end is refused, not followed", () => {
  expect(readJson("[".repeat(100_000))).toMatchObject({
    problem: { message: "The value is nested too deeply." },
  });
});

test("a number that would change on its way is refused", () => {
  expect(checkJson('{"id": [12345678901234567890]}').problem).toContain("12345678901234567890");
  expect(checkJson('{"id": 9007199254740991}').problem).toBeNull();
});

test("a value that does not fit its schema is told by its path", async () => {
  const check = await schemaCheck({
    type: "object",
    properties: { to: { type: "string" }, count: { type: "integer", minimum: 1 } },
    required: ["to"],
    additionalProperties: false,
  });
  expect(check({ to: "Ada", count: 2 })).toEqual([]);
  expect(check({ to: 1 }).join()).toContain("to:");
  expect(check({}).join()).toContain("to");
  expect(check({ to: "Ada", what: 1 })).not.toEqual([]);
});

test("a schema that makes no sense checks nothing", async () => {
  const check = await schemaCheck({ $ref: "#/nowhere", type: "object" });
  expect(check({ a: 1 })).toEqual([]);
});
