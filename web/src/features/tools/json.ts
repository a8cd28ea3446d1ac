/** Reading JSON that people write. */
import { checkJson } from "@/components/json/json-check";
import { isObject, type JsonObject } from "@/lib/json";

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
