/** What is wrong with a JSON text, in words: its form, its numbers, and whether it fits a schema. */
import type { Validator } from "@cfworker/json-schema";
import { type JsonNode, readJson } from "./json-text";

export type JsonSchema = Record<string, unknown>;

type Checked = { value: unknown; problem: null } | { value?: never; problem: string };

/** Parses a JSON text; a problem has its line and column. */
export function checkJson(text: string): Checked {
  const reading = readJson(text);
  if ("problem" in reading) {
    const { line, column, message } = reading.problem;
    return { problem: `Line ${line}, column ${column}: ${message}` };
  }
  const inexact = findInexact(reading.node);
  if (inexact) return { problem: `${inexact} has too many digits. Put it in "quotes".` };
  return { value: JSON.parse(text), problem: null };
}

/** Makes the check of a schema; a schema that makes no sense checks nothing. */
export async function schemaCheck(schema: JsonSchema): Promise<(value: unknown) => string[]> {
  const { Validator } = await import("@cfworker/json-schema");
  let validator: Validator;
  try {
    validator = new Validator(schema, "2020-12", false);
  } catch {
    return () => [];
  }
  return (value) => {
    try {
      return problemsOf(validator.validate(value).errors);
    } catch {
      return []; // a reference that leads nowhere
    }
  };
}

interface Unfit {
  instanceLocation: string;
  keyword: string;
  error: string;
}

/** Leaves out what only says that something inside is wrong. */
function problemsOf(errors: Unfit[]): string[] {
  const outer = new Set(["properties", "items", "prefixItems", "$ref", "allOf", "additionalProperties"]);
  const leaves = errors.filter(({ keyword }) => !outer.has(keyword));
  const problems = (leaves.length > 0 ? leaves : errors).map(({ instanceLocation, error }) => {
    const path = instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".");
    return path ? `${path}: ${error}` : error;
  });
  return [...new Set(problems)];
}

/** The first whole number that JavaScript would change. */
function findInexact(node: JsonNode): string | undefined {
  if (node.kind === "number")
    return /^-?\d+$/.test(node.raw) && !Number.isSafeInteger(Number(node.raw)) ? node.raw : undefined;
  const inside =
    node.kind === "object" ? node.entries.map(([, value]) => value) : node.kind === "array" ? node.items : [];
  for (const value of inside) {
    const found = findInexact(value);
    if (found) return found;
  }
  return undefined;
}
