/** A block of code: what language it is, a button to copy it, and colours when they are loaded. */
import "./code-block.css";
import { type ReactNode, useMemo } from "react";
import { CopyButton } from "@/components/ui/copy-button";
import { type Lazily, useLazily } from "./lazily";
import { ScrollBox } from "./scroll-box";

interface CodeBlockProps {
  language: string;
  text: string;
  /** It is still being written. */
  live?: boolean;
}

const HIGHLIGHT: Lazily<typeof import("./highlight")> = { load: () => import("./highlight") };
const LARGEST = 20_000;
/** Colouring anew with each word costs; a large block waits until it is whole. */
const LARGEST_LIVE = 4_000;

export function CodeBlock({ language, text, live = false }: CodeBlockProps): ReactNode {
  const colour = language !== "" && text.length <= (live ? LARGEST_LIVE : LARGEST);
  const highlight = useLazily(HIGHLIGHT, colour);
  const coloured = useMemo(
    () => highlight?.highlight(language.toLowerCase(), text) ?? null,
    [highlight, language, text],
  );
  const name = language || "text";
  return (
    <div className="my-3 overflow-hidden rounded-xl border border-line bg-panel">
      <div className="flex h-9 items-center justify-between border-b border-line pr-1 pl-3.5 text-xs text-soft">
        <span className="truncate font-mono">{name}</span>
        <CopyButton text={text} label="Copy code" />
      </div>
      <ScrollBox
        label={`Code, ${name}`}
        className="max-h-[36rem] overflow-auto px-3.5 py-3 font-mono text-[0.8125rem] leading-relaxed"
      >
        <pre className="code">
          <code>{coloured ?? text}</code>
        </pre>
      </ScrollBox>
    </div>
  );
}
