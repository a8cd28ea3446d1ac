/** The arguments to try a tool with: as fields of a form, made from its schema, and as JSON. */
import { parseJson } from "@/components/json/parse-json";
import { isObject, type JsonObject, writeJson } from "@/lib/json";

export interface Choice {
  value: unknown;
  label: string;
}

export interface ArgumentField {
  name: string;
  kind: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  required: boolean;
  description: string;
  choices: Choice[];
  schema: JsonObject;
}

/** What stands in the fields, by name, as it was typed. */
export type Typed = Record<string, string>;

export function argumentFields(schema: JsonObject): ArgumentField[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, given]) => {
    const property = isObject(given) ? given : {};
    const choices = choicesOf(property);
    return {
      name,
      kind: kindOf(property, choices),
      required: required.includes(name),
      description: typeof property.description === "string" ? property.description : "",
      choices,
      schema: property,
    };
  });
}

/** What may be chosen: the values of `enum`, or of `oneOf` with a title each. */
function choicesOf({ enum: values, enumNames: names, oneOf }: JsonObject): Choice[] {
  if (Array.isArray(values)) {
    const labels: unknown[] = Array.isArray(names) ? names : [];
    return values.map((value, at) => ({ value, label: String(labels[at] ?? value) }));
  }
  const titled = Array.isArray(oneOf) ? oneOf.filter(isObject) : [];
  if (titled.length === 0 || !titled.every((one) => "const" in one)) return [];
  return titled.map((one) => ({ value: one.const, label: String(one.title ?? one.const) }));
}

function kindOf(property: JsonObject, choices: Choice[]): ArgumentField["kind"] {
  if (choices.length) return "choice";
  switch (property.type) {
    case "string":
      return "text";
    case "number":
    case "integer":
    case "boolean":
      return property.type;
    default:
      return "json";
  }
}

/** What to begin with: the default or the first example of each, where the schema has one. */
export function firstTyped(fields: ArgumentField[]): Typed {
  const begun = fields.flatMap((field): [string, string][] => {
    const { examples } = field.schema;
    const value = Array.isArray(examples) ? examples[0] : field.schema.default;
    return value === undefined || value === null ? [] : [[field.name, typedOf(field, value)]];
  });
  return Object.fromEntries(begun);
}

function typedOf(field: ArgumentField, value: unknown): string {
  if (field.kind === "text" && typeof value === "string") return value;
  if (field.kind === "json") return writeJson(value);
  return JSON.stringify(value) ?? "";
}

/** One argument, read from what was typed; `undefined` leaves it out. */
function readField(field: ArgumentField, typed: string): { value?: unknown; problem?: string } {
  if (field.kind === "text") return typed || field.required ? { value: typed } : {};
  if (!typed.trim()) return field.required ? { problem: "Required." } : {};
  if (field.kind === "number" || field.kind === "integer") {
    const number = Number(typed);
    if (!Number.isFinite(number)) return { problem: "Enter a number." };
    if (field.kind === "integer" && !Number.isInteger(number)) return { problem: "Enter a whole number." };
    return { value: number };
  }
  const parsed = parseJson(typed);
  return parsed.ok ? { value: parsed.value } : { problem: parsed.problem };
}

interface ReadArguments {
  value: JsonObject;
  problems: Record<string, string>;
}

/** All arguments as JSON, and what is wrong with which. `more`: those the schema does not name. */
export function readArguments(fields: ArgumentField[], typed: Typed, more: JsonObject = {}): ReadArguments {
  const value: JsonObject = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const read = readField(field, typed[field.name] ?? "");
    if (read.problem !== undefined) problems[field.name] = read.problem;
    else if (read.value !== undefined) value[field.name] = read.value;
  }
  return { value: { ...value, ...more }, problems };
}

/** The other way: what to show in the fields for arguments, and what no field can show. */
export function typedArguments(
  fields: ArgumentField[],
  value: JsonObject,
): { typed: Typed; more: JsonObject } {
  const named = new Map(fields.map((field) => [field.name, field]));
  const typed: Typed = {};
  const more: JsonObject = {};
  for (const [name, argument] of Object.entries(value)) {
    const field = named.get(name);
    if (field && (field.kind !== "text" || typeof argument === "string"))
      typed[name] = typedOf(field, argument);
    else more[name] = argument;
  }
  return { typed, more };
}
