/** Files of a message that is said again in another chat: each belongs to one chat, so it gets copies. */
import { refusalOf } from "@/api/client";
import type { Content } from "@/protocol/commands";
import type { ContentPart } from "@/protocol/events";
import { uploadFile } from "./attachments";

export async function withCopiedFiles(content: Content): Promise<Content> {
  if (typeof content === "string") return content;
  return Promise.all(content.map(copied));
}

async function copied(part: ContentPart): Promise<ContentPart> {
  if (part.type === "text" || part.source.type !== "file" || part.source.provider) return part;
  const response = await fetch(`/api/files/${encodeURIComponent(part.source.value)}/content`);
  if (!response.ok) throw await refusalOf(response);
  const file = await uploadFile(new File([await response.blob()], "file"));
  return { ...part, source: { ...part.source, value: file.id } };
}
