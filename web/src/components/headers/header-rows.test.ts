import { expect, test } from "vitest";
import {
  emptyHeader,
  headerBodies,
  headerNameProblem,
  headerRows,
  headerValueProblem,
  isStored,
} from "./header-rows";

const stored = {
  url: "https://shop.example.com/orders",
  headers: [
    { name: "Authorization", secret: true, value: null },
    { name: "X-Team", secret: false, value: "blue" },
  ],
};

test("a stored secret that nobody touched goes back without a value", () => {
  expect(headerBodies(headerRows(stored.headers))).toEqual([
    { name: "Authorization", secret: true },
    { name: "X-Team", secret: false, value: "blue" },
  ]);
});

test("a new secret goes with its value, and a plain header may be empty", () => {
  const rows = [
    { name: "Authorization", value: "Bearer new", secret: true, replacing: true },
    { ...emptyHeader(), name: "X-Empty" },
  ];
  expect(headerBodies(rows)).toEqual([
    { name: "Authorization", secret: true, value: "Bearer new" },
    { name: "X-Empty", secret: false, value: "" },
  ]);
});

test("a secret is kept for its name and its host only", () => {
  const [secret] = headerRows(stored.headers);
  const row = secret ?? emptyHeader();
  expect(isStored(row, "https://SHOP.example.com/other", stored)).toBe(true);
  expect(isStored({ ...row, name: "authorization" }, stored.url, stored)).toBe(true);
  expect(isStored({ ...row, name: "X-Key" }, stored.url, stored)).toBe(false);
  expect(isStored({ ...row, secret: false }, stored.url, stored)).toBe(false);
  expect(isStored(row, "https://evil.example.com/orders", stored)).toBe(false);
  expect(isStored(row, "http://shop.example.com/orders", stored)).toBe(false);
  expect(isStored(row, stored.url)).toBe(false);
});

test("a secret that is not kept must be entered, and the words say why", () => {
  const [secret] = headerRows(stored.headers);
  const row = secret ?? emptyHeader();
  expect(headerValueProblem(row, stored.url, stored)).toBeUndefined();
  expect(headerValueProblem(row, "https://evil.example.com/", stored)).toContain("the host changed");
  expect(headerValueProblem(row, stored.url)).toBe("Enter the secret.");
});

test.each([
  ["X-Key", undefined],
  ["", "Enter a header name."],
  ["X Key", "Not a valid header name"],
  ["Host", "set by the server"],
  ["content-length", "set by the server"],
])("the name %j is judged as the server does", (name, problem) => {
  const told = headerNameProblem(name, [{ ...emptyHeader(), name }]);
  if (problem === undefined) expect(told).toBeUndefined();
  else expect(told).toContain(problem);
});

test("a header twice, in whatever letters, is told", () => {
  const rows = ["x-key", "X-Key"].map((name) => ({ ...emptyHeader(), name }));
  expect(headerNameProblem("X-Key", rows)).toBe("X-Key is already used.");
});

test.each(["line\nbreak", " around ", "é", "x".repeat(8193)])("the value %j cannot be sent", (value) => {
  expect(headerValueProblem({ ...emptyHeader(), name: "X", value }, stored.url)).toBeTruthy();
});
