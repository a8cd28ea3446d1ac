import { expect, test } from "vitest";
import { grantable, madeWith, stateOf } from "./key-rules";

test("a key can be given no more than its maker has", () => {
  expect(grantable({ permissions: ["use", "build"] }).map(({ id }) => id)).toEqual(["use", "build"]);
});

test("a key works until it ends or is revoked", () => {
  expect(stateOf({ revoked_at: null, expires_at: null }, 100)).toBe("works");
  expect(stateOf({ revoked_at: null, expires_at: 100 }, 100)).toBe("expired");
  expect(stateOf({ revoked_at: 50, expires_at: 60 }, 100)).toBe("revoked");
});

test("the keys made with a key are counted to the last, without those that ended before", () => {
  const keys = [
    { id: "a", made_by: null, revoked_at: null },
    { id: "b", made_by: "a", revoked_at: null },
    { id: "c", made_by: "b", revoked_at: null },
    { id: "d", made_by: "a", revoked_at: 1 },
  ];
  expect(madeWith(keys, "a")).toBe(2);
  expect(madeWith(keys, "c")).toBe(0);
});
