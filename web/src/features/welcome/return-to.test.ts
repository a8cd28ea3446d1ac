import { expect, test } from "vitest";
import { safeReturnTo } from "./return-to";

const HERE = "https://agio.example.com";

test.each(["/chat", "/chat/ses_1?a=b#end", "/settings/providers", "/agents/new?copy=agt_1"])(
  "a path of this server is gone back to: %s",
  (path) => expect(safeReturnTo(path, HERE)).toBe(path),
);

test.each([
  undefined,
  "",
  "chat",
  "//evil.example",
  "/\\evil.example",
  "/\t/evil.example",
  "/\n\\evil.example",
  "/.//evil.example",
  "/x/..//evil.example",
  "\\\\evil.example",
  "https://evil.example/",
  "javascript:alert(1)",
  " /chat",
  "/sign-in",
  "/sign-in?return_to=/sign-in",
  "/sign-in/oidc/google",
  `/runs?search=${"x".repeat(2000)}`,
])("anything else leads home: %j", (wanted) => expect(safeReturnTo(wanted, HERE)).toBe("/"));

test("what a browser would read differently is written as it reads it", () => {
  expect(safeReturnTo("/chat?search=zwölf", HERE)).toBe("/chat?search=zw%C3%B6lf");
});
