/** What the agent remembers of the people it talks with. */
import type { ReactNode } from "react";
import { useController, useWatch } from "react-hook-form";
import { Switch } from "@/components/ui/switch";
import type { AgentValues } from "./agent-values";
import { FormSection, InputField, RadioField } from "./form-section";

const POLICIES = [
  {
    value: "suggest",
    label: "Suggest",
    hint: "After a chat the model suggests what to remember. Each person approves, edits or rejects what is suggested to them.",
  },
  {
    value: "automatic",
    label: "Automatic",
    hint: "What the model suggests is remembered at once. People can edit and delete it later.",
  },
  { value: "off", label: "Off", hint: "Nothing is suggested, and no memory reaches a prompt." },
];

export function MemorySection(): ReactNode {
  const { field } = useController<AgentValues, "search_conversations">({ name: "search_conversations" });
  const off = useWatch<AgentValues, "memory">({ name: "memory" }) === "off";
  const isDemo = useWatch<AgentValues, "model_provider">({ name: "model_provider" }) === "demo";
  return (
    <FormSection
      title="Memory"
      hint="What the agent remembers from one chat to the next. To search and save during a chat, give it the tools search_memory and save_memory."
    >
      <RadioField name="memory" label="Memory policy" choices={POLICIES} />
      {!off && isDemo && (
        <p className="text-[0.8125rem] text-soft">The demo model suggests nothing by itself.</p>
      )}
      {!off && (
        <div className="grid gap-4 sm:grid-cols-2">
          <InputField
            name="max_memories"
            label="Memories per run"
            hint="The most that a run begins with. Default: 20."
            inputMode="numeric"
          />
        </div>
      )}
      <Switch
        label="Search past conversations"
        hint="The agent can search what was said in the same person's other chats with agents that have this switch."
        checked={field.value}
        onChange={field.onChange}
      />
    </FormSection>
  );
}
