/** A file that goes with a message: its picture, how far it is, and the way to leave it out. */
import { CircleAlert, FileText, LoaderCircle, RotateCcw, X } from "lucide-react";
import type { ReactNode } from "react";
import { IconButton } from "@/components/ui/button";
import { cx } from "@/lib/class-names";
import { formatBytes } from "@/lib/format";
import type { Attachment } from "./attachments";

interface AttachmentChipProps {
  item: Attachment;
  onRemove: () => void;
  onRetry: () => void;
}

export function AttachmentChip({ item, onRemove, onRetry }: AttachmentChipProps): ReactNode {
  const { name, size, preview, file, problem } = item;
  const retryable = problem && !["file_too_large", "empty_file"].includes(problem.code);
  return (
    <li
      className={cx(
        "flex max-w-full items-center gap-2.5 rounded-xl border bg-panel py-1.5 pr-1 pl-1.5",
        problem ? "border-bad" : "border-line",
      )}
    >
      <span className="relative grid size-10 shrink-0 place-items-center overflow-hidden rounded-lg bg-hover text-soft">
        {preview ? (
          <img src={preview} alt="" className={cx("size-full object-cover", !file && "opacity-50")} />
        ) : (
          file && <FileText className="size-4" aria-hidden />
        )}
        {!file && !problem && <LoaderCircle className="absolute size-4 animate-spin" aria-hidden />}
        {problem && <CircleAlert className="absolute size-4 text-bad" aria-hidden />}
      </span>
      <span className="flex min-w-0 flex-col">
        <span className="max-w-44 truncate text-[0.8125rem] font-medium">{name}</span>
        <span
          className={cx("text-xs", problem ? "text-bad" : "text-soft")}
          role={problem ? "alert" : undefined}
        >
          {problem ? problem.message : file ? formatBytes(size) : "Uploading…"}
        </span>
      </span>
      {retryable && (
        <IconButton label={`Upload ${name} again`} onClick={onRetry}>
          <RotateCcw className="size-3.5" aria-hidden />
        </IconButton>
      )}
      <IconButton label={`Remove ${name}`} onClick={onRemove}>
        <X className="size-3.5" aria-hidden />
      </IconButton>
    </li>
  );
}
