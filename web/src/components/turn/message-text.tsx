/** A person's words as they wrote them; many lines are folded. */
import { type ReactNode, useId, useState } from "react";
import { cx } from "@/lib/class-names";

const LINES = 15;
const CHARS_PER_LINE = 70;

export function MessageText({ text }: { text: string }): ReactNode {
  const [whole, setWhole] = useState(false);
  const id = useId();
  const long = linesOf(text) > LINES;
  return (
    <>
      <div id={id} className={cx("whitespace-pre-wrap wrap-anywhere", long && !whole && "line-clamp-12")}>
        {text}
      </div>
      {long && (
        <button
          type="button"
          aria-expanded={whole}
          aria-controls={id}
          onClick={() => setWhole(!whole)}
          className="mt-1 rounded text-[0.8125rem] font-medium text-accent-text hover:underline"
        >
          {whole ? "Show less" : "Show more"}
        </button>
      )}
    </>
  );
}

/** About how many lines a text takes. */
function linesOf(text: string): number {
  let lines = 0;
  for (const line of text.split("\n", LINES + 1))
    lines += Math.max(1, Math.ceil(line.length / CHARS_PER_LINE));
  return lines;
}
