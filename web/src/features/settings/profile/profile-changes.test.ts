import { expect, test } from "vitest";
import { changesOf, nameProblem, rowsOf } from "./profile-changes";

test("only what changed is sent, and what is gone is null", () => {
  const before = { city: "Oslo", language: "German", nickname: "Al" };
  const rows = [
    { name: "city", value: " Bergen " },
    { name: "language", value: "German" },
    { name: "team", value: "red" },
  ];
  expect(changesOf(before, rows)).toEqual({ nickname: null, city: "Bergen", team: "red" });
  expect(changesOf(before, rowsOf(before))).toEqual({});
});

test("a field that is named anew goes and comes", () => {
  expect(changesOf({ town: "Oslo" }, [{ name: "city", value: "Oslo" }])).toEqual({
    town: null,
    city: "Oslo",
  });
});

test("names that the server would refuse are told before", () => {
  const refused = ["", "City", "1st", "a b", "a".repeat(65)];
  expect(refused.filter((name) => nameProblem(name, []) === undefined)).toEqual([]);
  expect(nameProblem("city", [{ name: "city", value: "" }])).toBeUndefined();
  const twice = [
    { name: "city", value: "" },
    { name: "city ", value: "" },
  ];
  expect(nameProblem("city", twice)).toMatch(/already used/);
});
