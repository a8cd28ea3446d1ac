/** How far a run may go, and what its answer must be. */
import { type ReactNode, useEffect, useRef } from "react";
import { useController } from "react-hook-form";
import { JsonEditor } from "@/components/json/json-editor";
import type { AgentValues } from "./agent-values";
import { FormSection, InputField, useFieldProblem } from "./form-section";

const EXAMPLE = '{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}';

export function LimitsSection(): ReactNode {
  return (
    <FormSection title="Limits" hint="What is left empty is the server's default.">
      <div className="grid gap-4 sm:grid-cols-2">
        <InputField
          name="max_steps"
          label="Steps"
          hint="Calls of the model in a run. Default: 50."
          inputMode="numeric"
        />
        <InputField
          name="max_tokens"
          label="Tokens"
          hint="Read and written in a run, together. Default: no limit."
          inputMode="numeric"
        />
        <InputField
          name="run_timeout_s"
          label="Seconds for a run"
          hint="Default: 3,600, an hour."
          inputMode="decimal"
        />
        <InputField
          name="turn_timeout_s"
          label="Seconds for a turn of the model"
          hint="Default: 600, ten minutes."
          inputMode="decimal"
        />
        <InputField
          name="tool_timeout_s"
          label="Seconds for a tool call"
          hint="Of tools that set no time themselves. Default: 60."
          inputMode="decimal"
        />
        <InputField
          name="max_history_messages"
          label="Messages of history"
          hint="How many earlier messages the model is shown. Default: 200."
          inputMode="numeric"
        />
      </div>
    </FormSection>
  );
}

export function OutputSection(): ReactNode {
  const { field } = useController<AgentValues, "output_schema">({ name: "output_schema" });
  const problem = useFieldProblem("output_schema");
  const box = useRef<HTMLDivElement>(null);
  const { ref } = field;
  useEffect(() => ref({ focus: () => box.current?.querySelector("textarea")?.focus() }), [ref]);
  return (
    <FormSection title="Output" hint="For programs that read the answer. People chat best without.">
      <div ref={box}>
        <JsonEditor
          label="JSON schema of the answer"
          hint={
            <>
              The final answer is JSON that fits this schema; one that does not fit is sent back to the model.
              Empty: text. For example <code className="font-mono text-xs wrap-anywhere">{EXAMPLE}</code>
            </>
          }
          optional
          rows={8}
          value={field.value}
          onChange={field.onChange}
          problem={problem}
        />
      </div>
    </FormSection>
  );
}
