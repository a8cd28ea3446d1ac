/** Pictures and files of a message: pictures small, opening large; files to download. */
import { useQuery } from "@tanstack/react-query";
import { FileText, ImageOff, Link2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api, data } from "@/api/client";
import { Dialog } from "@/components/ui/dialog";
import { cx } from "@/lib/class-names";
import { formatBytes } from "@/lib/format";
import { downloadUrl, fileIdOf, type MediaPart, nameOf, pictureUrl } from "./source";

interface AttachedFilesProps {
  parts: readonly MediaPart[];
  /** At the right, as a person's own. */
  own?: boolean;
}

export function AttachedFiles({ parts, own = false }: AttachedFilesProps): ReactNode {
  return (
    <ul className={cx("flex max-w-full flex-wrap gap-2", own && "justify-end")}>
      {parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message never change places
        <li key={at} className="max-w-full">
          {pictureUrl(part) ? <Picture part={part} /> : <FileChip part={part} />}
        </li>
      ))}
    </ul>
  );
}

function Picture({ part }: { part: MediaPart }): ReactNode {
  const [open, setOpen] = useState(false);
  const [gone, setGone] = useState(false);
  const url = pictureUrl(part) ?? "";
  const name = nameOf(part) ?? "Image";
  if (gone) {
    return (
      <span className="flex items-center gap-2 rounded-xl border border-line px-3 py-2 text-sm text-soft">
        <ImageOff className="size-4" aria-hidden /> {name} is no longer available
      </span>
    );
  }
  return (
    <>
      <button
        type="button"
        onClick={() => setOpen(true)}
        aria-label={`Show ${name} larger`}
        className="block rounded-xl"
      >
        <img
          src={url}
          alt={name}
          loading="lazy"
          onError={() => setGone(true)}
          className="max-h-48 min-h-10 max-w-full rounded-xl border border-line object-contain"
        />
      </button>
      <Dialog open={open} onClose={() => setOpen(false)} title={name} wide>
        <img src={url} alt={name} className="mx-auto max-h-[70dvh] max-w-full rounded-lg object-contain" />
      </Dialog>
    </>
  );
}

function FileChip({ part }: { part: MediaPart }): ReactNode {
  const id = fileIdOf(part);
  const file = useQuery({
    queryKey: ["files", id],
    queryFn: () => data(api.GET("/api/files/{file_id}", { params: { path: { file_id: id ?? "" } } })),
    enabled: id !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const url = downloadUrl(part);
  const name = nameOf(part) ?? file.data?.name ?? (part.source.type === "url" ? part.source.value : "File");
  const about = file.data
    ? `${file.data.media_type} · ${formatBytes(file.data.size)}`
    : file.isError
      ? "No longer available"
      : (part.source.mimeType ?? part.type);
  const Icon = part.source.type === "url" ? Link2 : FileText;
  const chip = (
    <>
      <Icon className="size-4 shrink-0 text-soft" aria-hidden />
      <span className="min-w-0">
        <span className="block truncate text-sm font-medium">{name}</span>
        <span className="block truncate text-xs text-soft">{about}</span>
      </span>
    </>
  );
  const look = "flex max-w-72 items-center gap-2.5 rounded-xl border border-line bg-raised px-3 py-2";
  if (!url || file.isError) return <span className={look}>{chip}</span>;
  return (
    <a href={url} download={name} className={`${look} hover:bg-hover`}>
      {chip}
      <span className="sr-only">Download</span>
    </a>
  );
}
