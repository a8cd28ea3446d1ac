/** How far a run may go, and what its answer must be. */
import { type ReactNode, useEffect, useRef } from "react";
import { useController } from "react-hook-form";
import { JsonEditor } from "@/components/json/json-editor";
import type { AgentValues } from "./agent-values";
import { FormSection, InputField, useFieldProblem } from "./form-section";

const EXAMPLE = '{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}';

export function LimitsSection(): ReactNode {
  return (
    <FormSection title="Limits" hint="Leave a field empty to use the server's default.">
      <div className="grid gap-4 sm:grid-cols-2">
        <InputField
          name="max_steps"
          label="Steps"
          hint="Model calls per run. Default: 50."
          inputMode="numeric"
        />
        <InputField
          name="max_tokens"
          label="Tokens"
          hint="Input and output tokens per run. Default: no limit."
          inputMode="numeric"
        />
        <InputField
          name="run_timeout_s"
          label="Run timeout (seconds)"
          hint="Default: 3,600 (1 hour)."
          inputMode="decimal"
        />
        <InputField
          name="turn_timeout_s"
          label="Model call timeout (seconds)"
          hint="Default: 600 (10 minutes)."
          inputMode="decimal"
        />
        <InputField
          name="tool_timeout_s"
          label="Tool call timeout (seconds)"
          hint="For tools without a timeout of their own. Default: 60."
          inputMode="decimal"
        />
        <InputField
          name="context_tokens"
          label="Prompt tokens"
          hint="The most a prompt may take. Set it for models with a small context. Default: 120,000."
          inputMode="numeric"
        />
        <InputField
          name="max_history_messages"
          label="History messages"
          hint="How many earlier messages the model sees. Default: 200."
          inputMode="numeric"
        />
        <InputField
          name="compact_at_tokens"
          label="Summarise past (tokens)"
          hint="A larger prompt has its older messages summarised. 0: never. Default: 80 % of the prompt tokens."
          inputMode="numeric"
        />
        <InputField
          name="max_tool_tokens"
          label="Tool description tokens"
          hint="Past this, the model searches its MCP tools instead of seeing all of them. Default: 10,000."
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
    <FormSection title="Output" hint="For programs that read the answer. Leave empty for chat.">
      <div ref={box}>
        <JsonEditor
          label="JSON schema of the answer"
          hint={
            <>
              The final answer must be JSON that matches this schema; otherwise the model is asked again.
              Leave empty for text. Example:{" "}
              <code className="font-mono text-xs wrap-anywhere">{EXAMPLE}</code>
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
