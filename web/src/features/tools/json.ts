/** JSON objects that people write. */
import { parseJson } from "@/components/json/parse-json";
import { isObject, type JsonObject } from "@/lib/json";

/** The JSON object in a text; an empty one if there is none. */
export function objectIn(text: string): JsonObject {
  const parsed = parseJson(text);
  return parsed.ok && isObject(parsed.value) ? parsed.value : {};
}
