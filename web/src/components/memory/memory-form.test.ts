import { expect, test } from "vitest";
import { bodyOf, changeOf, contentProblem, NEW_MEMORY, valuesOf } from "./memory-form";
import { importanceWords } from "./memory-words";

const NOON = new Date(2026, 2, 9, 12, 30).getTime();
const VIEW = {
  id: "mem_1",
  agent_id: null,
  scope: "user",
  content: "Lives in Bern.",
  memory_type: "fact",
  importance: 0.29,
  observed_at: NOON,
} as Parameters<typeof valuesOf>[0];

test("what was read and not changed changes nothing, also the time of day it was observed at", () => {
  const values = valuesOf(VIEW);
  expect(values).toMatchObject({ importance: 29, observed_on: "2026-03-09", agent_id: "" });
  expect(changeOf(values, { ...values, content: " Lives in Bern.\n" })).toBeNull();
});

test("only what was changed is sent", () => {
  const values = valuesOf(VIEW);
  const day = new Date(2026, 2, 1).getTime();
  expect(changeOf(values, { ...values, importance: 80 })).toEqual({ importance: 0.8 });
  expect(changeOf(values, { ...values, memory_type: "episode", observed_on: "2026-03-01" })).toEqual({
    memory_type: "episode",
    observed_at: day,
  });
  expect(changeOf(values, { ...values, observed_on: "" })).toBeNull();
});

test("a new memory leaves its day to the server", () => {
  expect(bodyOf({ ...NEW_MEMORY, content: " Tea. " })).toEqual({
    content: "Tea.",
    memory_type: "fact",
    importance: 0.5,
    scope: "user_agent",
  });
});

test("a memory needs words, and not too many; signs count once", () => {
  expect(contentProblem(" \n")).toBe("Enter what to remember.");
  expect(contentProblem("😀".repeat(4_000))).toBeUndefined();
  expect(contentProblem("a".repeat(4_001))).toBe("At most 4,000 characters, not 4,001.");
});

test("importance is a word and a number", () => {
  expect([0, 0.5, 1].map(importanceWords)).toEqual(["Low (0 %)", "Medium (50 %)", "High (100 %)"]);
});
