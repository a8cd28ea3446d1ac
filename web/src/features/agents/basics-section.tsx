/** What the agent is called, and whether it takes messages; and what it is told. */
import type { ReactNode } from "react";
import { useController } from "react-hook-form";
import { Switch } from "@/components/ui/switch";
import type { AgentValues } from "./agent-values";
import { FormSection, InputField, TextareaField } from "./form-section";

export function BasicsSection(): ReactNode {
  const status = useController<AgentValues, "status">({ name: "status" });
  return (
    <FormSection title="Basics" hint="How people find and recognise the agent.">
      <InputField name="name" label="Name" hint="Each agent of the team has a name of its own." required />
      <TextareaField
        name="description"
        label="Description"
        hint="A sentence for the people who choose between agents."
        optional
        rows={2}
        className="min-h-16!"
      />
      <Switch
        label="Active"
        hint="An inactive agent takes no messages. Its chats stay readable."
        checked={status.field.value === "active"}
        onChange={(on) => status.field.onChange(on ? "active" : "inactive")}
      />
    </FormSection>
  );
}

export function InstructionsSection(): ReactNode {
  return (
    <FormSection title="Instructions" hint="What the model is told before every chat.">
      <TextareaField
        name="system_prompt"
        label="System prompt"
        hint="Who the agent is, what it does, what it leaves, and in which tone it answers."
        placeholder="You help customers of our shop. Answer briefly, and look orders up instead of guessing."
        rows={12}
        required
      />
      <TextareaField
        name="goal"
        label="Goal"
        hint="With a goal the agent works on by itself until it says that the goal is met, or its steps run out. Without one it answers and waits."
        optional
        rows={3}
      />
    </FormSection>
  );
}
