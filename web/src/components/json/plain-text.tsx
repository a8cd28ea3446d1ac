/** A text as it is written; of a very long one the beginning, until all of it is asked for. */
import { type ReactNode, useState } from "react";
import { Button } from "@/components/ui/button";
import { formatBytes } from "@/lib/format";

const SHOWN_CHARS = 200_000;

export function PlainText({ text }: { text: string }): ReactNode {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > SHOWN_CHARS;
  return (
    <>
      <pre className="whitespace-pre-wrap wrap-anywhere">{cut ? text.slice(0, SHOWN_CHARS) : text}</pre>
      {cut && (
        <Button size="small" className="mt-2 font-sans" onClick={() => setWhole(true)}>
          Show all ({formatBytes(text.length)})
        </Button>
      )}
    </>
  );
}
