import { expect, test } from "vitest";
import { writeJson } from "@/lib/json";
import { newRow, rowProblem, rowsOf, schemaOf, schemaProblem, withType } from "./parameter-table";

const rich = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    number: { type: "string", description: "The order's number.", minLength: 1, examples: ["7"] },
    kind: { type: "string", enum: ["bakery", "books"] },
    size: { type: "integer", enum: [1, 2], default: 1 },
    tags: { type: "array", items: { type: "string" } },
    near: { type: "object", properties: { city: { type: "string" } } },
    either: { anyOf: [{ type: "string" }, { type: "null" }], description: "Or nothing." },
    mixed: { enum: ["a", 1, null] },
    comma: { type: "string", enum: ["a, b", "c"] },
    many: { type: ["string", "number"] },
  },
  required: ["number", "elsewhere"],
  additionalProperties: false,
  $defs: { a: { type: "string" } },
};

test("a schema that went through the table says the same as before", () => {
  expect(schemaOf(rowsOf(rich), rich)).toEqual({ ...rich, required: ["number", "elsewhere"] });
});

test("rows show what the table can say, and leave the rest to the JSON", () => {
  const rows = rowsOf(rich);
  expect(rows.map(({ type }) => type)).toEqual([
    ...["string", "string", "integer", "array", "object"],
    ...["other", "other", "other", "other"],
  ]);
  expect(rows[1]?.choices).toBe("bakery, books");
  expect(rows[5]?.description).toBe("Or nothing.");
});

test("changes of a row change only what they are about", () => {
  const rows = rowsOf(rich).map((row) =>
    row.name === "size" ? { ...row, name: "length", required: true, choices: "1, 2 ,3" } : row,
  );
  const { properties, required } = schemaOf(rows, rich);
  expect(properties).toHaveProperty("length", { type: "integer", enum: [1, 2, 3], default: 1 });
  expect(properties).not.toHaveProperty("size");
  expect(required).toEqual(["number", "length", "elsewhere"]);
});

test("without required parameters the schema has no list of them", () => {
  expect(schemaOf([], { type: "object", properties: { a: {} }, required: ["a"] })).toEqual({
    type: "object",
    properties: {},
  });
});

test("another type leaves out what belonged to the old one", () => {
  const [row] = rowsOf({ type: "object", properties: { a: { type: "string", enum: ["x"], minLength: 2 } } });
  expect(schemaOf([withType(row ?? newRow(), "array")], {}).properties).toEqual({
    a: { type: "array", items: { type: "string" } },
  });
});

test("a row without a name, with a name that is taken, or with choices that do not fit is wrong", () => {
  const [one, two, three] = [newRow(), { ...newRow(), name: "a" }, { ...newRow(), name: "a" }];
  const rows = [one, two, three];
  expect(rowProblem(one, rows)).toBe("Enter a name.");
  expect(rowProblem(two, rows)).toBe("The name a is already used.");
  const number = { ...newRow(), name: "n", type: "number" as const, choices: "1, many" };
  expect(rowProblem(number, [number])).toBe("The allowed values must be numbers.");
});

test("a parameter may have a name that every object has", () => {
  const schema = { type: "object", properties: { toString: { type: "string" } }, required: ["toString"] };
  expect(schemaOf(rowsOf(schema), schema)).toEqual(schema);
});

test.each([
  ["{}", 'must have "type": "object"'],
  ["[]", "must be a JSON object"],
  ["{", "Line 1"],
  [writeJson({ type: "object", properties: [] }), '"properties" must be'],
  [writeJson({ type: "object", properties: { a: { type: "text" } } }), 'Parameter a: "text" is not a type'],
  [writeJson({ type: "object", properties: { a: 1 } }), "Parameter a must be a JSON object"],
  [writeJson({ type: "object", required: "a" }), '"required" must be a list'],
  [
    writeJson({ type: "object", properties: { a: { type: "array", items: { type: "x" } } } }),
    '"x" is not a type',
  ],
])("%s is no schema of parameters", (text, problem) => {
  expect(schemaProblem(text)).toContain(problem);
});

test("what a schema of parameters can be is let through", () => {
  expect(schemaProblem(writeJson(rich))).toBeUndefined();
  expect(schemaProblem('{"type": "object"}')).toBeUndefined();
});
