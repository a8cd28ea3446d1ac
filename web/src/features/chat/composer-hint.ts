/** What stands below the box messages are written in: what keeps a message from being sent, or when it is sent. */
import { formatBytes } from "@/lib/format";
import { type Attachment, MESSAGE_BYTES } from "./attachments";

export interface Hint {
  text: string;
  /** Nothing can be sent: until it is seen to, or until files are there. */
  blocks: boolean | "for now";
}

/** What to say of the message that is written; null if there is nothing to say. */
export function hintOf(state: {
  closed: string | null;
  items: readonly Attachment[];
  tooLarge: boolean;
  busy: boolean;
  written: boolean;
  wanted: boolean;
  unsent: boolean;
}): Hint | null {
  if (state.closed) return { text: state.closed, blocks: true };
  if (state.items.some((item) => item.problem))
    return { text: "A file could not be attached. Remove it or try again.", blocks: true };
  if (state.tooLarge)
    return {
      text: `Too long: the limit for a message is ${formatBytes(MESSAGE_BYTES)}. Attach it as a file instead.`,
      blocks: true,
    };
  if (state.items.some((item) => !item.file))
    return {
      text: state.wanted
        ? "Uploading… Stay on this page: the message is sent when the upload finishes."
        : "Uploading…",
      blocks: "for now",
    };
  if (state.unsent)
    return { text: "Not sent: you left while a file was uploading. Attach it again.", blocks: false };
  return state.busy && state.written ? { text: "Sends when this answer finishes.", blocks: false } : null;
}
