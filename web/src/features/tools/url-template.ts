import { isObject, type JsonObject } from "@/lib/json";
/** The URL of an HTTP tool with its `{parameters}`, checked as the server does. */

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

const PARAMETER = /\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;
const FIXED = /^https?:\/\/[^/?#{}]+(?:[/?]|$)/i;
const SCALARS = ["string", "integer", "number", "boolean"];

/** The names in braces, each once, in their order. */
export function placeholders(url: string): string[] {
  return [...new Set([...url.matchAll(PARAMETER)].map((found) => found[1] ?? ""))];
}

/** What is wrong with a URL, regardless of its parameters. */
export function urlProblem(url: string): string | undefined {
  if (!url.trim()) return "Enter a URL.";
  if (/\s/.test(url)) return "A URL cannot contain spaces.";
  if (!FIXED.test(url))
    return "Start with https:// or http:// and a host. Parameters can only come after the host.";
  if (url.includes("#")) return "Remove everything after #: it is never sent.";
  const filled = url.replace(PARAMETER, "x");
  if (/[{}]/.test(filled))
    return "Braces are for parameters: {name}, with letters, digits, _ and -, not starting with a digit.";
  const [path = ""] = filled.split("?");
  if (path.split("/").some((segment) => segment === "." || segment === ".."))
    return "The path cannot contain . or .. segments.";
  return URL.canParse(filled) ? undefined : "This is not a valid URL.";
}

/** Where an argument goes. `problem`: why it cannot go there. */
export interface Destination {
  name: string;
  place: "path" | "query" | "body";
  problem?: "missing" | "optional" | "not plain";
}

/** Where each argument goes: first those the URL names, then the rest. */
export function destinations(url: string, method: Method, schema: JsonObject): Destination[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const named = placeholders(url);
  const [path = ""] = url.split("?");
  const inPath = new Set(placeholders(path));
  const problemOf = (name: string): Pick<Destination, "problem"> => {
    const property = properties[name];
    if (!Object.hasOwn(properties, name) || !isObject(property)) return { problem: "missing" };
    if (typeof property.type !== "string" || !SCALARS.includes(property.type))
      return { problem: "not plain" };
    return required.includes(name) ? {} : { problem: "optional" };
  };
  const rest = ["GET", "HEAD", "DELETE"].includes(method) ? "query" : "body";
  return [
    ...named.map((name) => ({
      name,
      place: inPath.has(name) ? ("path" as const) : ("query" as const),
      ...problemOf(name),
    })),
    ...Object.keys(properties)
      .filter((name) => !named.includes(name))
      .map((name) => ({ name, place: rest }) satisfies Destination),
  ];
}

/** The sentence for a parameter of the URL that the schema does not carry. */
export function destinationProblem({ name, problem }: Destination): string | undefined {
  if (problem === "missing") return `{${name}} is not defined as a parameter.`;
  if (problem === "optional") return `{${name}} must be a required parameter.`;
  if (problem === "not plain") return `{${name}} must be a text, a number or yes/no.`;
  return undefined;
}

/** Adds what the URL names to a schema, as required texts where nothing better is there. */
export function withPlaceholders(url: string, schema: JsonObject): JsonObject {
  const properties: JsonObject = isObject(schema.properties) ? { ...schema.properties } : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  for (const name of placeholders(url)) {
    const before = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const plain = isObject(before) && typeof before.type === "string" && SCALARS.includes(before.type);
    if (!plain) {
      const description =
        isObject(before) && typeof before.description === "string" ? before.description : "";
      properties[name] = { type: "string", ...(description ? { description } : {}) };
    }
    required.add(name);
  }
  return { ...schema, type: "object", properties, required: [...required] };
}
