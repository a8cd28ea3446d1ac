// @vitest-environment happy-dom
import { afterEach, expect, test } from "vitest";
import { isAtWork } from "./at-work";

afterEach(() => {
  document.body.innerHTML = "";
});

test.each([
  ['<input id="at">', true],
  ['<textarea id="at"></textarea>', true],
  ['<div role="menu"><a id="at" href="/">Runs</a></div>', true],
  ['<div role="dialog"><button id="at">Close</button></div>', true],
  ['<a id="at" href="/">Runs</a>', false],
  ['<button id="at">More</button>', false],
])("who is at %s is at work: %s", (markup, atWork) => {
  document.body.innerHTML = markup;
  const at = document.getElementById("at");
  expect(isAtWork()).toBe(false);
  at?.focus();
  expect(isAtWork()).toBe(atWork);
  expect(isAtWork(at)).toBe(false);
});
