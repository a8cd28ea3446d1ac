import { expect, test } from "vitest";
import type { SuggestionView } from "@/protocol/api";
import { bySession, keyOf, neighbour } from "./inbox";

const suggestion = (id: string, session_id: string | null) => ({ id, session_id }) as SuggestionView;
const waiting = [suggestion("1", "a"), suggestion("2", "b"), suggestion("3", "a"), suggestion("4", null)];

test("suggestions of a chat stand together, at the place of its newest", () => {
  const shown = bySession(waiting).map(({ sessionId, items }) => [sessionId, items.map(({ id }) => id)]);
  expect(shown).toEqual([
    ["a", ["1", "3"]],
    ["b", ["2"]],
    ["", ["4"]],
  ]);
});

test("the way goes from one to the next and ends at the ends", () => {
  expect(neighbour(waiting, "1", 1)?.id).toBe("2");
  expect(neighbour(waiting, "1", -1)).toBeUndefined();
  expect(neighbour(waiting, "4", 1)).toBeUndefined();
  expect(neighbour(waiting, "gone", 1)).toBeUndefined();
});

test("a key alone decides; the browser's own keys stay its own", () => {
  const plain = { shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };
  const pressed = (key: string, more = {}) => keyOf({ ...plain, key, ...more });
  expect(["a", "e", "r", "ArrowDown", "k", "x"].map((key) => pressed(key))).toEqual([
    "approve",
    "edit",
    "reject",
    "next",
    "previous",
    null,
  ]);
  expect(pressed("A", { shiftKey: true })).toBe("approve all");
  expect([
    pressed("r", { ctrlKey: true }),
    pressed("a", { metaKey: true }),
    pressed("R", { shiftKey: true }),
  ]).toEqual([null, null, null]);
});
