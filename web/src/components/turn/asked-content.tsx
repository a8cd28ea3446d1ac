/** A message of a person: its files, and its text in a bubble on the right. */
import type { ReactNode } from "react";
import { cx } from "@/lib/class-names";
import type { Content } from "@/protocol/commands";
import { textOf } from "@/state/thread";
import { AttachedFiles } from "./attached-files";
import { MessageText } from "./message-text";
import { filesOf } from "./source";

interface AskedContentProps {
  content: Content;
  /** Of the bubble. */
  className?: string | false | undefined;
}

export function AskedContent({ content, className }: AskedContentProps): ReactNode {
  const text = textOf(content);
  const files = filesOf(content);
  return (
    <>
      {files.length > 0 && <AttachedFiles parts={files} own />}
      {text && (
        <div
          className={cx(
            "max-w-[min(100%,36rem)] self-end rounded-2xl rounded-br-md bg-panel px-4 py-2.5",
            className,
          )}
        >
          <MessageText text={text} />
        </div>
      )}
    </>
  );
}
