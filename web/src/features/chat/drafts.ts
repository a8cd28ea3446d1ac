/** Unsent text, kept for each chat across reloads. */
import type { Attached } from "./attachments";

interface Draft {
  text: string;
  files: Attached[];
  /** It was to go when its files were there, and the page was left before. */
  unsent?: boolean;
}

/** The chat that is not begun yet. */
export const NEW_CHAT = "new";
export const NO_DRAFT: Draft = { text: "", files: [] };
const nameOf = (key: string) => `agio.draft.${key}`;

export function loadDraft(key: string): Draft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(nameOf(key)) ?? "null") as Partial<Draft> | null;
    const text = typeof kept?.text === "string" ? kept.text : "";
    return { text, files: Array.isArray(kept?.files) ? kept.files : [], unsent: kept?.unsent === true };
  } catch {
    return NO_DRAFT;
  }
}

export function saveDraft(key: string, draft: Draft): void {
  try {
    if (draft.text || draft.files.length > 0 || draft.unsent)
      sessionStorage.setItem(nameOf(key), JSON.stringify(draft));
    else sessionStorage.removeItem(nameOf(key));
  } catch {
    // There is no room for it: it is lost with the page, but not before.
  }
}

/** Puts the words of one chat behind those of another; files stay with the chat they are of. */
export function moveDraft(from: string, to: string): void {
  const { text } = loadDraft(from);
  if (!text) return;
  const before = loadDraft(to);
  saveDraft(to, { ...before, text: before.text ? `${before.text}\n\n${text}` : text });
  saveDraft(from, NO_DRAFT);
}
