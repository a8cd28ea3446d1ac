/** Whether a person decides before the agent's tools are called. */
import type { ReactNode } from "react";
import { FormSection, RadioField } from "./form-section";

const POLICIES = [
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
  return (
    <FormSection title="Approval" hint="Which tool calls need a person's approval.">
      <RadioField name="approval" label="Approval policy" choices={POLICIES} />
    </FormSection>
  );
}
