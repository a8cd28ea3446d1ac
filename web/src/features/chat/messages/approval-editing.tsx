/** The arguments of a call, to be changed before it is approved. In a file of its own: few are. */
import type { ReactNode } from "react";
import { checkJson } from "@/components/json/json-check";
import { JsonEditor } from "@/components/json/json-editor";
import { printJson, readJson } from "@/components/json/json-text";
import { useKeptState } from "@/components/turn/kept-state";
import { Button } from "@/components/ui/button";
import type { DecidingProps } from "./approval-question";

export function ApprovalEditing(props: DecidingProps & { args: string }): ReactNode {
  const { id, takesFocus, args, busy, onCancel, onDecide } = props;
  const original = pretty(args);
  const [draft, setDraft] = useKeptState(`arguments ${id}`, original);
  const checked = checkJson(draft);
  const fits = checked.problem === null && isObject(checked.value);
  return (
    <div className="flex flex-col gap-3">
      <JsonEditor
        label="Edit arguments"
        value={draft}
        onChange={setDraft}
        rows={Math.min(16, Math.max(5, draft.split("\n").length))}
        problem={checked.problem === null && !fits ? "The arguments must be an object: { … }." : undefined}
        autoFocus={takesFocus}
      />
      <div className="flex flex-wrap gap-2">
        <Button
          look="primary"
          disabled={busy || !fits}
          onClick={() => {
            if (checked.problem !== null || !isObject(checked.value)) return;
            onDecide(
              draft === original ? { approved: true } : { approved: true, edited_args: checked.value },
            );
          }}
        >
          Approve with changes
        </Button>
        <Button disabled={draft === original} onClick={() => setDraft(original)}>
          Reset
        </Button>
        <Button
          look="quiet"
          onClick={() => {
            setDraft(original);
            onCancel();
          }}
        >
          Cancel
        </Button>
      </div>
    </div>
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function pretty(args: string): string {
  const reading = readJson(args);
  return "node" in reading ? printJson(reading.node) : args;
}
