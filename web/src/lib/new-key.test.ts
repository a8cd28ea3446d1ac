/** Keys on pages without TLS, where a browser has fewer ways to make them. */
import { afterEach, expect, test, vi } from "vitest";
import { newKey } from "./new-key";

afterEach(() => vi.unstubAllGlobals());

test("a key is made where the browser has no randomUUID, and no two are the same", () => {
  const { getRandomValues } = crypto;
  vi.stubGlobal("crypto", { getRandomValues: getRandomValues.bind(crypto) });
  expect("randomUUID" in crypto).toBe(false);
  const keys = Array.from({ length: 1_000 }, newKey);
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toMatch(/^[0-9a-f]{32}$/);
});
