/** The inbox of suggestions: its order, and what its keys do. */
import type { SuggestionView } from "@/protocol/api";

export interface SessionSuggestions {
  /** Empty: they came from no chat. */
  sessionId: string;
  items: SuggestionView[];
}

/** Suggestions by chat, in the order in which each chat first comes. */
export function bySession(suggestions: readonly SuggestionView[]): SessionSuggestions[] {
  const groups = new Map<string, SuggestionView[]>();
  for (const suggestion of suggestions) {
    const key = suggestion.session_id ?? "";
    groups.set(key, [...(groups.get(key) ?? []), suggestion]);
  }
  return [...groups].map(([sessionId, items]) => ({ sessionId, items }));
}

/** The suggestion before (-1) or after (1) one. */
export function neighbour(
  order: readonly SuggestionView[],
  id: string,
  step: 1 | -1,
): SuggestionView | undefined {
  const at = order.findIndex((suggestion) => suggestion.id === id);
  return at < 0 ? undefined : order[at + step];
}

type Act = "next" | "previous" | "approve" | "edit" | "reject" | "approve all";

interface Key {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** What a key does on a suggestion that has the focus. */
export function keyOf({ key, shiftKey, ctrlKey, metaKey, altKey }: Key): Act | null {
  if (ctrlKey || metaKey || altKey) return null;
  if (shiftKey) return key.toLowerCase() === "a" ? "approve all" : null;
  switch (key) {
    case "ArrowDown":
    case "j":
      return "next";
    case "ArrowUp":
    case "k":
      return "previous";
    case "a":
      return "approve";
    case "e":
      return "edit";
    case "r":
      return "reject";
    default:
      return null;
  }
}
