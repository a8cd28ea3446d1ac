/** Which version of its agent a run used, and what has changed in the agent since. */
import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { ScrollBox } from "@/components/markdown/scroll-box";
import { CopyButton } from "@/components/ui/copy-button";
import { cx } from "@/lib/class-names";
import type { RunDefinition as Definition, RunView } from "@/protocol/api";
import { type Change, changesOf } from "./definition-words";
import { runDefinitionQuery } from "./run-queries";

const SHORT = 8;

export function RunDefinition({ run }: { run: RunView }): ReactNode {
  const { data } = useQuery({ ...runDefinitionQuery(run.id), enabled: run.definition !== null });
  if (run.definition === null) return null;
  return (
    <section aria-label="Agent version" className="mt-3 text-[0.8125rem] text-soft">
      <p className="-my-1.5 flex flex-wrap items-center">
        Agent version{" "}
        <span className="ml-1.5 font-mono text-xs text-ink">{run.definition.slice(0, SHORT)}</span>
        <CopyButton text={run.definition} label="Copy agent version" />
        <span>{data && !data.changed.length && stateOf(data)}</span>
      </p>
      {data?.pinned && data.current && data.changed.length > 0 && (
        <Changes changes={changesOf(data.changed, data.pinned, data.current)} />
      )}
    </section>
  );
}

function stateOf({ current }: Definition): string {
  return current === null ? "The agent was deleted since." : "The agent is unchanged since.";
}

function Changes({ changes }: { changes: Change[] }): ReactNode {
  const [open, setOpen] = useState(false);
  const id = useId();
  const count = changes.length === 1 ? "1 setting" : `${changes.length} settings`;
  return (
    <>
      <button
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className="-ml-1 flex items-start gap-1 rounded-lg px-1 py-1 text-left hover:text-ink"
      >
        <ChevronRight
          className={cx("mt-0.5 size-4 shrink-0 transition-transform", open && "rotate-90")}
          aria-hidden
        />
        {count} {changes.length === 1 ? "differs" : "differ"} from the agent today:{" "}
        {changes.map(({ name }) => name.toLowerCase()).join(", ")}
      </button>
      {open && (
        <ul id={id} className="mt-2 flex flex-col gap-4">
          {changes.map(({ name, before, after }) => (
            <li key={name}>
              <h2 className="mb-1.5 text-sm font-medium text-ink">{name}</h2>
              <div className="grid gap-3 sm:grid-cols-2">
                <Value title="This run" name={name} text={before} />
                <Value title="Now" name={name} text={after} />
              </div>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Value({ title, name, text }: { title: string; name: string; text: string }): ReactNode {
  return (
    <div className="min-w-0">
      <p className="mb-1 text-xs">{title}</p>
      <ScrollBox
        label={`${name}, ${title.toLowerCase()}`}
        className="max-h-72 overflow-y-auto rounded-lg border border-line bg-panel px-3 py-2 font-mono text-xs leading-relaxed whitespace-pre-wrap text-ink wrap-anywhere"
      >
        {text}
      </ScrollBox>
    </div>
  );
}
