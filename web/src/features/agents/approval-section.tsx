/** Whether a person decides before the agent's tools are called. */
import { type ReactNode, useId } from "react";
import { useFormContext } from "react-hook-form";
import type { AgentValues } from "./agent-values";
import { FormSection } from "./form-section";

const POLICIES: { value: AgentValues["approval"]; label: string; hint: string }[] = [
  {
    value: "tool",
    label: "Tool's default",
    hint: "Each tool decides whether it needs approval. You can override this per tool above.",
  },
  {
    value: "ask",
    label: "Ask before every call",
    hint: "A person approves, edits or rejects every call, regardless of the tools' settings.",
  },
];

export function ApprovalSection(): ReactNode {
  const { register } = useFormContext<AgentValues>();
  const id = useId();
  return (
    <FormSection title="Approval" hint="Which tool calls need a person's approval.">
      <fieldset className="relative flex flex-col gap-3">
        <legend className="sr-only">Approval policy</legend>
        {POLICIES.map(({ value, label, hint }) => (
          <div key={value} className="flex items-start gap-3">
            <input
              id={`${id}-${value}`}
              type="radio"
              value={value}
              aria-describedby={`${id}-${value}-hint`}
              className="mt-1 size-4 shrink-0 accent-accent"
              {...register("approval")}
            />
            <div>
              <label htmlFor={`${id}-${value}`} className="text-sm font-medium">
                {label}
              </label>
              <p id={`${id}-${value}-hint`} className="text-[0.8125rem] text-soft">
                {hint}
              </p>
            </div>
          </div>
        ))}
      </fieldset>
    </FormSection>
  );
}
