// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { readDocumentProblem } from "./document-problem";
import { tokenOf } from "./invitation-token";

function pageWith(content: string): Document {
  const page = document.implementation.createHTMLDocument();
  const meta = page.createElement("meta");
  meta.name = "agio-problem";
  meta.content = content;
  page.head.append(meta);
  return page;
}

test("the problem in the document is read", () => {
  const given = readDocumentProblem(pageWith('{"code":"sign_in_link_over","message":"It is over."}'));
  expect(given).toMatchObject({
    problem: { code: "sign_in_link_over", message: "It is over." },
    purpose: "sign_in",
    returnTo: "/",
    signedIn: false,
  });
});

test("with it comes the way on, which never leads to another server", () => {
  const more = '"code":"x","message":"No.","purpose":"link","signed_in":true';
  expect(readDocumentProblem(pageWith(`{${more},"return_to":"/runs?a=1"}`))).toMatchObject({
    purpose: "link",
    returnTo: "/runs?a=1",
    signedIn: true,
  });
  expect(readDocumentProblem(pageWith(`{${more},"return_to":"//evil.example"}`))?.returnTo).toBe("/");
});

test.each(["", "{problem}", "[]", "null", '{"code":1,"message":"x"}'])(
  "nothing is read from %j",
  (content) => {
    expect(readDocumentProblem(pageWith(content))).toBeUndefined();
  },
);

test("an invitation's token is what stands behind the #, however it is written", () => {
  expect(tokenOf("#abc-_123")).toBe("abc-_123");
  expect(tokenOf("abc%2D1")).toBe("abc-1");
  expect(tokenOf("%E0%A4%A")).toBe("%E0%A4%A");
  expect(tokenOf("")).toBe("");
  expect(tokenOf("x".repeat(500))).toHaveLength(200);
});
