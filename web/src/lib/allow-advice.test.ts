import { expect, test } from "vitest";
import { allowAdvice } from "./allow-advice";

test.each([
  ["http://127.0.0.1:11434/v1", "127.0.0.1:11434"],
  [" https://wiki.corp/{page} ", "wiki.corp:443"],
  ["http://[::1]/x", "[::1]:80"],
])("the advice for %j adds %j to the list and keeps what is set", (url, entry) => {
  expect(allowAdvice(url)).toContain(`add ${entry} to AGIO_EGRESS_ALLOW`);
  expect(allowAdvice(url)).toContain(`AGIO_EGRESS_ALLOW=<existing>,${entry}`);
  expect(allowAdvice(url)).not.toContain(`AGIO_EGRESS_ALLOW=${entry}`);
});

test.each(["wiki", ""])("there is none for %j", (url) => expect(allowAdvice(url)).toBeNull());
