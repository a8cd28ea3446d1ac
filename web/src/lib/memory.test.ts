// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { memoryOf, tabMemory } from "./memory";

test("what is kept is read until it is taken", () => {
  tabMemory.keep("agio.x", "1");
  expect(tabMemory.read("agio.x")).toBe("1");
  expect(tabMemory.take("agio.x")).toBe("1");
  expect(tabMemory.read("agio.x")).toBeNull();
});

test("a browser that blocks its storage forgets, and nothing breaks", () => {
  const blocked = memoryOf(() => {
    throw new DOMException("The operation is insecure.", "SecurityError");
  });
  blocked.keep("agio.x", "1");
  expect(blocked.take("agio.x")).toBeNull();
  blocked.clear();
});
