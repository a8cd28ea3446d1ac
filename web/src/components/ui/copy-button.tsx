/** Copies a text, and says that it did. */
import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { copyText } from "@/lib/clipboard";
import { IconButton } from "./button";

const SHOWN_MS = 1_500;

export function CopyButton({
  text,
  label = "Copy",
}: {
  text: string | (() => string);
  label?: string;
}): ReactNode {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    setCopied(await copyText(typeof text === "string" ? text : text()));
  };
  return (
    <IconButton label={copied ? "Copied" : label} onClick={() => void copy()}>
      {copied ? <Check className="size-4 text-good" aria-hidden /> : <Copy className="size-4" aria-hidden />}
    </IconButton>
  );
}
