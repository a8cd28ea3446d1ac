// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { loadDraft, moveDraft, NEW_CHAT, saveDraft } from "./drafts";

beforeEach(() => sessionStorage.clear());

test("the words of a chat that is gone come behind those of a new one, once", () => {
  saveDraft("ses_1", { text: "half a sentence", files: [] });
  saveDraft(NEW_CHAT, { text: "Dear", files: [] });
  moveDraft("ses_1", NEW_CHAT);
  moveDraft("ses_1", NEW_CHAT);
  expect(loadDraft(NEW_CHAT).text).toBe("Dear\n\nhalf a sentence");
  expect(loadDraft("ses_1").text).toBe("");
});
