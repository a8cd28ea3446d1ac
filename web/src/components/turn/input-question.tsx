/** What a tool asks during its call: a form to fill in, or a page to open. */
import { Check, ExternalLink, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ArgumentsForm } from "@/components/arguments/arguments-form";
import { argumentFields, firstTyped, readArguments } from "@/components/arguments/call-arguments";
import { Button } from "@/components/ui/button";
import { visible } from "@/lib/visible";
import type { Answer } from "@/protocol/commands";
import type { AskedInput } from "@/state/thread";
import { useKeptState } from "./kept-state";
import { useToolServer } from "./tool-title";

interface InputQuestionProps {
  id: string;
  /** The tool that asks. */
  tool: string;
  input: AskedInput;
  busy: boolean;
  onDecide: (answer: Omit<Answer, "interrupt_id">) => void;
}

export function InputQuestion({ id, tool, input, busy, onDecide }: InputQuestionProps): ReactNode {
  const server = useToolServer(tool)?.name ?? tool;
  const fields = input.form ? argumentFields(input.form) : [];
  const [typed, setTyped] = useKeptState(`input ${id}`, firstTyped(fields));
  const [shown, setShown] = useState(false);
  const read = readArguments(fields, typed);
  const fits = Object.keys(read.problems).length === 0;
  return (
    <form
      className="flex flex-col gap-3.5"
      onSubmit={(event) => {
        event.preventDefault();
        setShown(true);
        if (fits) onDecide({ approved: true, ...(input.form ? { content: read.value } : {}) });
      }}
    >
      {input.url !== null && <PageLink url={input.url} />}
      {fields.length > 0 && (
        <ArgumentsForm
          titled
          fields={fields}
          typed={typed}
          problems={shown ? read.problems : {}}
          onType={(name, text) => setTyped({ ...typed, [name]: text })}
        />
      )}
      <p className="text-xs text-soft">
        {input.url === null
          ? `Your answer goes to ${server}. Do not enter passwords or keys.`
          : `${server} sends you to this page. Check the address before you enter anything there.`}
      </p>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" busy={busy}>
          <Check className="size-4" aria-hidden /> {input.url === null ? "Send answer" : "Continue"}
        </Button>
        <Button disabled={busy} onClick={() => onDecide({ approved: false })}>
          <X className="size-4" aria-hidden /> Decline
        </Button>
      </div>
    </form>
  );
}

function PageLink({ url }: { url: string }): ReactNode {
  return (
    <a
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      className="flex items-start gap-2 rounded-lg border border-line bg-panel px-3 py-2 text-sm underline wrap-anywhere"
    >
      <ExternalLink className="mt-0.5 size-4 shrink-0" aria-hidden />
      {visible(url)}
    </a>
  );
}
