import { expect, test } from "vitest";
import { passwordProblem, passwordStrength } from "./password";

test("a short password says how much is missing", () => {
  expect(passwordProblem("short")).toBe("At least 12 characters: 7 more.");
});

test("an email address is no password, nor the name in it", () => {
  expect(passwordProblem("Ann@Example.com", "ann@example.com")).toMatch(/email/);
  expect(passwordProblem("annabelle.smith", "AnnaBelle.Smith@x.org ")).toMatch(/email/);
});

test("a pattern of few characters is refused", () => {
  expect(passwordProblem("abababababab")).toMatch(/repeats/);
});

test("longer and more varied is stronger", () => {
  const levels = ["short", "hello-a-world", "Hello-a-w0rld", "correct horse battery staple"].map(
    (password) => passwordStrength(password).level,
  );
  expect(levels).toEqual([0, 1, 2, 3]);
});
