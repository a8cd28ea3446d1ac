/** Files that go with a message: uploaded as soon as they are chosen, sent by their ids. */
import { useCallback, useEffect, useRef, useState } from "react";
import { api, data } from "@/api/client";
import { Problem, problemOf } from "@/api/problem";
import { formatBytes } from "@/lib/format";
import { newKey } from "@/lib/new-key";
import type { FileView } from "@/protocol/api";
import type { Content } from "@/protocol/commands";
import type { ContentPart } from "@/protocol/events";

/** A file the server has. */
export interface Attached {
  id: string;
  name: string;
  mediaType: string;
  size: number;
}

export interface Attachment {
  key: string;
  name: string;
  size: number;
  /** A picture of it, where it is one and was chosen on this page. */
  preview: string | null;
  /** Null while it is on its way. */
  file: Attached | null;
  problem: Problem | null;
}

const FILE_BYTES = 25 * 1024 * 1024;
export const MESSAGE_BYTES = 256 * 1024;

/** A message of a text and files; one of a text alone is that text. */
export function contentOf(text: string, files: readonly Attached[]): Content {
  if (files.length === 0) return text;
  const parts = files.map(
    (file): ContentPart => ({
      type: file.mediaType.startsWith("image/") ? "image" : "document",
      source: { type: "file", value: file.id, mimeType: file.mediaType },
      metadata: { name: file.name },
    }),
  );
  return text.trim() ? [{ type: "text", text }, ...parts] : parts;
}

/** How large a message is where the server measures it; short ones are not measured. */
export function isTooLarge(content: Content): boolean {
  if (typeof content === "string" && content.length < MESSAGE_BYTES / 8) return false;
  return new TextEncoder().encode(JSON.stringify(content)).length > MESSAGE_BYTES;
}

interface Attachments {
  items: Attachment[];
  add: (files: Iterable<File>) => void;
  remove: (key: string) => void;
  retry: (key: string) => void;
}

export function useAttachments(initial: readonly Attached[]): Attachments {
  const [items, setItems] = useState<Attachment[]>(() => initial.map(known));
  const chosen = useRef(new Map<string, File>());
  const stops = useRef(new Map<string, AbortController>());

  const change = useCallback((key: string, changes: Partial<Attachment>) => {
    setItems((shown) => shown.map((item) => (item.key === key ? { ...item, ...changes } : item)));
  }, []);

  const upload = useCallback(
    async (key: string, file: File) => {
      const stop = new AbortController();
      stops.current.set(key, stop);
      change(key, { problem: null });
      try {
        const { id, media_type, size } = await uploadFile(file, stop.signal);
        change(key, { file: { id, name: file.name, mediaType: media_type, size } });
      } catch (thrown) {
        if (!stop.signal.aborted) change(key, { problem: problemOf(thrown) });
      }
    },
    [change],
  );

  const add = useCallback(
    (files: Iterable<File>) => {
      for (const file of files) {
        const key = newKey();
        chosen.current.set(key, file);
        const problem = refusalOf(file);
        const preview = file.type.startsWith("image/") ? URL.createObjectURL(file) : null;
        const item = { key, name: file.name, size: file.size, preview, file: null, problem };
        setItems((shown) => [...shown, item]);
        if (!problem) void upload(key, file);
      }
    },
    [upload],
  );

  const forget = useCallback((item: Attachment) => {
    stops.current.get(item.key)?.abort();
    stops.current.delete(item.key);
    chosen.current.delete(item.key);
    if (item.preview) URL.revokeObjectURL(item.preview);
  }, []);

  const remove = useCallback(
    (key: string) =>
      setItems((shown) => {
        const gone = shown.find((item) => item.key === key);
        if (gone) forget(gone);
        return shown.filter((item) => item !== gone);
      }),
    [forget],
  );

  const retry = useCallback(
    (key: string) => {
      const file = chosen.current.get(key);
      if (file) void upload(key, file);
    },
    [upload],
  );

  const latest = useRef(items);
  latest.current = items;
  useEffect(() => () => latest.current.forEach(forget), [forget]);
  return { items, add, remove, retry };
}

function known(file: Attached): Attachment {
  return { key: file.id, name: file.name, size: file.size, preview: null, file, problem: null };
}

function refusalOf(file: File): Problem | null {
  if (file.size > FILE_BYTES)
    return new Problem(
      "file_too_large",
      `${formatBytes(file.size)} is too large. The limit is ${formatBytes(FILE_BYTES)}.`,
    );
  return file.size === 0 ? new Problem("empty_file", "The file is empty.") : null;
}

export function uploadFile(file: File, signal?: AbortSignal): Promise<FileView> {
  const form = new FormData();
  form.append("file", file);
  return data(
    api.POST("/api/files", { body: { file: "" }, bodySerializer: () => form, ...(signal ? { signal } : {}) }),
  );
}
