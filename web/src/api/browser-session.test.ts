// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { claimTab } from "./browser-session";

beforeEach(() => sessionStorage.clear());

test("what a tab keeps stays for whoever comes back to it", () => {
  claimTab({ tenant: "ten_1", user: "usr_1" });
  sessionStorage.setItem("agio.draft.new", "half a sentence");
  claimTab({ tenant: "ten_1", user: "usr_1" });
  expect(sessionStorage.getItem("agio.draft.new")).toBe("half a sentence");
});

test("what a tab keeps is gone for somebody else, and in another team", () => {
  const others = [
    { tenant: "ten_1", user: "usr_2" },
    { tenant: "ten_2", user: "usr_1" },
  ];
  for (const other of others) {
    claimTab({ tenant: "ten_1", user: "usr_1" });
    sessionStorage.setItem("agio.draft.new", "half a sentence");
    claimTab(other);
    expect(sessionStorage.getItem("agio.draft.new")).toBeNull();
  }
});

test("what was kept before a tab had an owner is its first owner's", () => {
  sessionStorage.setItem("agio.draft.new", "half a sentence");
  claimTab({ tenant: "ten_1", user: "usr_1" });
  expect(sessionStorage.getItem("agio.draft.new")).toBe("half a sentence");
});
