/** A secret that is shown once, with a button that copies it. */
import type { ReactNode } from "react";
import { CopyButton } from "@/components/ui/copy-button";

export function ShownOnce({ label, text }: { label: string; text: string }): ReactNode {
  return (
    <div>
      <p className="mb-1.5 text-sm font-medium">{label}</p>
      <div className="flex items-start gap-2 rounded-xl border border-line bg-panel py-2 pr-2 pl-3">
        <code className="min-w-0 flex-1 self-center font-mono text-[0.8125rem] break-all whitespace-pre-wrap select-all">
          {text}
        </code>
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}
