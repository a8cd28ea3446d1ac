import { expect, test } from "vitest";
import { argumentFields, firstTyped, readArguments, typedArguments } from "./call-arguments";

const fields = argumentFields({
  type: "object",
  properties: {
    city: { type: "string" },
    note: { type: "string" },
    radius: { type: "number", default: 2.5 },
    limit: { type: "integer", examples: [3] },
    open: { type: "boolean" },
    kind: { enum: ["a", 1], enumNames: ["A", "One"] },
    near: { type: "object" },
  },
  required: ["city", "kind"],
});

test("fields are made from the schema, and begin with defaults and examples", () => {
  expect(fields.map(({ kind }) => kind)).toEqual([
    ...["text", "text", "number", "integer", "boolean", "choice", "json"],
  ]);
  const labels = ["A", "One"];
  expect(fields[5]?.choices.map(({ label }) => label)).toEqual(labels);
  const oneOf = [
    { const: "a", title: "A" },
    { const: 1, title: "One" },
  ];
  const [titled] = argumentFields({ type: "object", properties: { kind: { type: "string", oneOf } } });
  expect(titled?.choices).toEqual(fields[5]?.choices);
  expect(firstTyped(fields)).toEqual({ radius: "2.5", limit: "3" });
});

test("what is typed becomes values of the right type, and empty fields are left out", () => {
  const typed = { city: "Rome", radius: "1e1", limit: "2", open: "false", kind: "1", near: '{"x": [1]}' };
  expect(readArguments(fields, typed)).toEqual({
    value: { city: "Rome", radius: 10, limit: 2, open: false, kind: 1, near: { x: [1] } },
    problems: {},
  });
});

test("what does not fit is told at its field", () => {
  const { problems } = readArguments(fields, { radius: "far", limit: "1.5", near: "{" });
  expect(Object.keys(problems)).toEqual(["radius", "limit", "kind", "near"]);
});

test("arguments written as JSON come back into the fields, and lose nothing", () => {
  const value = { city: 7, note: "", kind: "a", near: null, stranger: true, open: true };
  const { typed, more } = typedArguments(fields, value);
  expect(more).toEqual({ city: 7, stranger: true });
  expect(readArguments(fields, typed, more).value).toEqual({
    ...{ city: 7, kind: "a", near: null, stranger: true, open: true },
  });
});
