/** The parameters of a tool as rows of a table, and back: what the table cannot say stays as it is in the schema. */
import { parseJson } from "@/components/json/parse-json";
import { isObject, type JsonObject } from "@/lib/json";

export const TYPES = {
  string: "Text",
  number: "Number",
  integer: "Whole number",
  boolean: "Yes or no",
  array: "List",
  object: "Object",
  other: "Custom (JSON)",
} as const;
export type RowType = keyof typeof TYPES;

export interface Row {
  /** Of this row on the page; a name can change. */
  key: number;
  name: string;
  type: RowType;
  description: string;
  required: boolean;
  /** The values it may have, with commas between them; empty: any. */
  choices: string;
  /** What else its schema says. */
  rest: JsonObject;
}

let rowCount = 0;

export function newRow(): Row {
  rowCount += 1;
  return {
    key: rowCount,
    name: "",
    type: "string",
    description: "",
    required: true,
    choices: "",
    rest: {},
  };
}

export function rowsOf(schema: JsonObject): Row[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, property]) => ({
    ...newRow(),
    ...rowOf(isObject(property) ? property : {}),
    name,
    required: required.includes(name),
  }));
}

function rowOf(property: JsonObject): Pick<Row, "type" | "description" | "choices" | "rest"> {
  const { type, description, enum: choices, ...rest } = property;
  const said = typeof description === "string" ? description : "";
  const known = typeof type === "string" && isRowType(type) && type !== "other" ? type : undefined;
  const written = known === undefined ? undefined : writeChoices(known, choices);
  if (known === undefined || written === undefined) {
    const { description: _, ...whole } = property;
    return { type: "other", description: said, choices: "", rest: whole };
  }
  return { type: known, description: said, choices: written, rest };
}

function isRowType(type: string): type is RowType {
  return Object.hasOwn(TYPES, type);
}

/** The choices as the table writes them; undefined if it cannot. */
function writeChoices(type: RowType, choices: unknown): string | undefined {
  if (choices === undefined) return "";
  if (!Array.isArray(choices) || choices.length === 0) return undefined;
  const text = choices.join(", ");
  const back = readChoices(type, text);
  const same = back?.length === choices.length && back.every((choice, at) => choice === choices[at]);
  return same ? text : undefined;
}

function readChoices(type: RowType, text: string): (string | number)[] | undefined {
  const words = text
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);
  if (type === "string") return words;
  if (type !== "number" && type !== "integer") return words.length ? undefined : [];
  const numbers = words.map(Number);
  const fit = numbers.every((number) =>
    type === "integer" ? Number.isInteger(number) : Number.isFinite(number),
  );
  return fit ? numbers : undefined;
}

export const takesChoices = (type: RowType): boolean =>
  type === "string" || type === "number" || type === "integer";

/** The same row with another type, without what belongs to the old one. */
export function withType(row: Row, type: RowType): Row {
  if (type === row.type) return row;
  const rest: JsonObject = type === "array" ? { items: { type: "string" } } : {};
  return { ...row, type, rest, choices: takesChoices(type) ? row.choices : "" };
}

/** What is wrong with a row among the others. */
export function rowProblem(row: Row, rows: Row[]): string | undefined {
  if (!row.name.trim()) return "Enter a name.";
  if (rows.some((other) => other.key !== row.key && other.name === row.name))
    return `The name ${row.name} is already used.`;
  if (readChoices(row.type, row.choices) === undefined) return "The allowed values must be numbers.";
  return undefined;
}

/** The schema the rows say. `base`: the one before, whose other words stay. */
export function schemaOf(rows: Row[], base: JsonObject): JsonObject {
  const properties = rows.map((row) => [row.name, propertyOf(row)] as const);
  const names = rows.filter((row) => row.required).map((row) => row.name);
  const before = isObject(base.properties) ? base.properties : {};
  const others = Array.isArray(base.required)
    ? base.required.filter((name) => typeof name === "string" && !Object.hasOwn(before, name))
    : [];
  const required = [...names, ...others.filter((name) => !names.includes(name))];
  const { required: _, ...kept } = base;
  return {
    ...kept,
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length ? { required } : {}),
  };
}

function propertyOf(row: Row): JsonObject {
  const description = row.description ? { description: row.description } : {};
  if (row.type === "other") return { ...row.rest, ...description };
  const choices = readChoices(row.type, row.choices) ?? [];
  return { type: row.type, ...description, ...(choices.length ? { enum: choices } : {}), ...row.rest };
}

/** What is wrong with the text of a schema of parameters; the server has the last word. */
export function schemaProblem(text: string): string | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok) return parsed.problem;
  if (!isObject(parsed.value)) return "The schema must be a JSON object.";
  if (parsed.value.type !== "object") return 'The schema must have "type": "object".';
  return shapeProblem(parsed.value, "The schema");
}

const JSON_TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];

function shapeProblem(schema: unknown, where: string): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (!isObject(schema)) return `${where} must be a JSON object.`;
  const { type, properties, required, items } = schema;
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  const strange = types.find((name) => !JSON_TYPES.includes(String(name)));
  if (strange !== undefined)
    return `${where}: ${JSON.stringify(strange)} is not a type. Use one of ${JSON_TYPES.join(", ")}.`;
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every((name) => typeof name === "string"))
  )
    return `${where}: "required" must be a list of names.`;
  if (schema.enum !== undefined && !Array.isArray(schema.enum)) return `${where}: "enum" must be a list.`;
  if (properties !== undefined && !isObject(properties))
    return `${where}: "properties" must be a JSON object.`;
  for (const [name, property] of Object.entries(properties ?? {})) {
    const problem = shapeProblem(property, `Parameter ${name}`);
    if (problem) return problem;
  }
  return items === undefined || Array.isArray(items) ? undefined : shapeProblem(items, `${where}: "items"`);
}
