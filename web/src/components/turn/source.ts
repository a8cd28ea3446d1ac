/** Where the bytes of a message's part are, as far as they may be shown: our own files, and what the message carries. */
import type { Content } from "@/protocol/commands";
import type { ContentPart } from "@/protocol/events";

export type MediaPart = Exclude<ContentPart, { type: "text" }>;

export function filesOf(content: Content): MediaPart[] {
  return typeof content === "string" ? [] : content.filter((part) => part.type !== "text");
}

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const FILE_ID = /^[\w-]+$/;

/** The address of a picture to show; null for one that is elsewhere, or none. */
export function pictureUrl(part: MediaPart): string | null {
  const { source } = part;
  if (source.type === "data")
    return PICTURES.has(source.mimeType) && BASE64.test(source.value)
      ? `data:${source.mimeType};base64,${source.value}`
      : null;
  return part.type === "image" ? downloadUrl(part) : null;
}

/** The id of a file of ours; null for bytes that are elsewhere. */
export function fileIdOf({ source }: MediaPart): string | null {
  return source.type === "file" && !source.provider && FILE_ID.test(source.value) ? source.value : null;
}

export function downloadUrl(part: MediaPart): string | null {
  const id = fileIdOf(part);
  return id && `/api/files/${id}/content`;
}

/** What the file was called where it came from, if that was kept. */
export function nameOf({ metadata }: MediaPart): string | null {
  const name = (metadata as { name?: unknown } | undefined)?.name;
  return typeof name === "string" && name ? name : null;
}
