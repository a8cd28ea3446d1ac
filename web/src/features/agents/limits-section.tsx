/** How far a run may go, and what its answer must be. */
import type { ReactNode } from "react";
import { FormSection, InputField, TextareaField } from "./form-section";

const EXAMPLE =
  '{\n  "type": "object",\n  "properties": { "answer": { "type": "string" } },\n  "required": ["answer"]\n}';

export function LimitsSection(): ReactNode {
  return (
    <FormSection title="Limits" hint="What is left empty is the server's default.">
      <div className="grid gap-4 sm:grid-cols-2">
        <InputField
          name="max_steps"
          label="Steps"
          hint="Calls of the model in a run. Default: 50."
          optional
          inputMode="numeric"
        />
        <InputField
          name="max_tokens"
          label="Tokens"
          hint="Read and written in a run, together. Default: no limit."
          optional
          inputMode="numeric"
        />
        <InputField
          name="run_timeout_s"
          label="Seconds for a run"
          hint="Default: 3,600, an hour."
          optional
          inputMode="decimal"
        />
        <InputField
          name="turn_timeout_s"
          label="Seconds for a turn of the model"
          hint="Default: 600, ten minutes."
          optional
          inputMode="decimal"
        />
        <InputField
          name="tool_timeout_s"
          label="Seconds for a tool call"
          hint="Of tools that set no time themselves. Default: 60."
          optional
          inputMode="decimal"
        />
        <InputField
          name="max_history_messages"
          label="Messages of history"
          hint="How many earlier messages the model is shown. Default: 200."
          optional
          inputMode="numeric"
        />
      </div>
    </FormSection>
  );
}

export function OutputSection(): ReactNode {
  return (
    <FormSection title="Output" hint="For programs that read the answer. People chat best without.">
      <TextareaField
        name="output_schema"
        label="JSON schema of the answer"
        hint="The final answer is JSON that fits this schema; one that does not fit is sent back to the model. Empty: text."
        optional
        rows={8}
        spellCheck={false}
        placeholder={EXAMPLE}
        className="font-mono text-[0.8125rem]!"
      />
    </FormSection>
  );
}
