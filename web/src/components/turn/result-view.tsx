/** What a tool gave back: JSON as such, text as text, pictures and files as in a message. */
import type { ReactNode } from "react";
import { JsonView } from "@/components/json/json-view";
import { PlainText } from "@/components/json/plain-text";
import { ScrollBox } from "@/components/markdown/scroll-box";
import { CopyButton } from "@/components/ui/copy-button";
import { cx } from "@/lib/class-names";
import type { Content } from "@/protocol/commands";
import { textOf } from "@/state/thread";
import { AttachedFiles } from "./attached-files";
import { filesOf } from "./source";

export function ResultView({ result, failed }: { result: Content; failed: boolean }): ReactNode {
  const text = textOf(result);
  const files = filesOf(result);
  return (
    <>
      {text.trim() ? (
        isJson(text) ? (
          <JsonView text={text} label="Result" />
        ) : (
          <Words text={text} failed={failed} />
        )
      ) : null}
      {files.length > 0 && <AttachedFiles parts={files} />}
      {!text.trim() && files.length === 0 && <p className="text-sm text-soft">No output.</p>}
    </>
  );
}

function Words({ text, failed }: { text: string; failed: boolean }): ReactNode {
  return (
    <div
      className={cx("relative rounded-lg", failed ? "bg-bad-soft text-bad" : "border border-line bg-panel")}
    >
      <div className="absolute top-1 right-1">
        <CopyButton text={text} label="Copy result" />
      </div>
      <ScrollBox
        label="Result"
        className="max-h-96 overflow-auto py-2.5 pr-10 pl-3 font-mono text-[0.8125rem] leading-relaxed"
      >
        <PlainText text={text} />
      </ScrollBox>
    </div>
  );
}

function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}
