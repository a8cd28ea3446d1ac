/** A tool's declaration to the model: description and schema; of a changed tool the old beside the new. */
import { type ReactNode, useMemo } from "react";
import { CopyButton } from "@/components/ui/copy-button";
import { cx } from "@/lib/class-names";
import { writeJson } from "@/lib/json";
import type { McpToolShape } from "@/protocol/api";
import { differingLines, type Line } from "./line-diff";

export function ToolSchema({ shape }: { shape: McpToolShape }): ReactNode {
  const text = writeJson(shape.parameters);
  return (
    <div className="relative">
      <div className="absolute top-1 right-1">
        <CopyButton text={text} label="Copy schema" />
      </div>
      <Lines label="Schema" lines={text.split("\n").map((line) => ({ text: line, differs: false }))} />
    </div>
  );
}

/** A screen reader hears a marked line as an insertion or a deletion. */
export function ToolChange({ before, after }: { before: McpToolShape; after: McpToolShape }): ReactNode {
  const compared = useMemo(() => differingLines(textOf(before), textOf(after)), [before, after]);
  return (
    <div className="grid gap-3 lg:grid-cols-2">
      <figure className="min-w-0">
        <figcaption className="mb-1 text-xs font-medium text-soft">Accepted</figcaption>
        <Lines label="Accepted" lines={compared.before} mark="del" />
      </figure>
      <figure className="min-w-0">
        <figcaption className="mb-1 text-xs font-medium text-soft">Offered now</figcaption>
        <Lines label="Offered now" lines={compared.after} mark="ins" />
      </figure>
    </div>
  );
}

const textOf = ({ description, parameters }: McpToolShape) => `${description}\n\n${writeJson(parameters)}`;

const MARKS = { del: "bg-bad-soft text-bad no-underline", ins: "bg-good-soft text-good no-underline" };

function Lines({
  label,
  lines,
  mark: Mark = "ins",
}: {
  label: string;
  lines: Line[];
  mark?: "del" | "ins";
}): ReactNode {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard too
      tabIndex={0}
      className="max-h-96 overflow-y-auto rounded-xl bg-panel px-3.5 py-3 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
    >
      {lines.map(({ text, differs }, at) => {
        const key = `${at}`;
        return differs ? (
          <Mark key={key} className={cx("-mx-1 block rounded px-1", MARKS[Mark])}>
            {text || " "}
          </Mark>
        ) : (
          <span key={key} className="block">
            {text || " "}
          </span>
        );
      })}
    </section>
  );
}
