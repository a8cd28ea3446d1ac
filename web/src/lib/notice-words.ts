/** What the chat and the page of a run say of events that are a note from the server. */
import { formatCounted } from "./format";

export function summarisedWords(messages: number): string {
  const which = formatCounted(messages, "older message was", "older messages were");
  return `${which} summarised. The model sees the summary instead.`;
}

export function suggestedWords(count: number): string {
  return `${formatCounted(count, "memory", "memories")} suggested`;
}
