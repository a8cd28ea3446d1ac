/** Reading JSON that people write. */
import { checkJson } from "@/components/json/json-check";

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Parsed = { ok: true; value: unknown } | { ok: false; problem: string };

export function parseJson(text: string): Parsed {
  const checked = checkJson(text);
  return checked.problem === null
    ? { ok: true, value: checked.value }
    : { ok: false, problem: checked.problem };
}

/** The JSON object in a text; an empty one if there is none. */
export function objectIn(text: string): JsonObject {
  const parsed = parseJson(text);
  return parsed.ok && isObject(parsed.value) ? parsed.value : {};
}

export const writeJson = (value: unknown): string => JSON.stringify(value, null, 2);
