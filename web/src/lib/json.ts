/** JSON values of unknown shape. */

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const writeJson = (value: unknown): string => JSON.stringify(value, null, 2);
