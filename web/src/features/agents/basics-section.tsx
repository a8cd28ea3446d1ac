/** The agent's name and status, and its instructions. */
import type { ReactNode } from "react";
import { useController } from "react-hook-form";
import { Switch } from "@/components/ui/switch";
import type { AgentValues } from "./agent-values";
import { FormSection, InputField, TextareaField } from "./form-section";

export function BasicsSection(): ReactNode {
  const status = useController<AgentValues, "status">({ name: "status" });
  return (
    <FormSection title="Basics" hint="How people find and recognise the agent.">
      <InputField name="name" label="Name" hint="Must be unique in the team." required />
      <TextareaField
        name="description"
        label="Description"
        hint="A sentence that helps people choose between agents."
        optional
        rows={2}
        className="min-h-16!"
      />
      <Switch
        label="Active"
        hint="An inactive agent accepts no messages. You can still read its chats."
        checked={status.field.value === "active"}
        onChange={(on) => status.field.onChange(on ? "active" : "inactive")}
      />
    </FormSection>
  );
}

export function InstructionsSection(): ReactNode {
  return (
    <FormSection title="Instructions" hint="What the model reads before every chat.">
      <TextareaField
        name="system_prompt"
        label="System prompt"
        hint="The agent's role, what it should and should not do, and its tone."
        placeholder="You help customers of our shop. Answer briefly, and look orders up instead of guessing."
        rows={12}
        required
      />
      <TextareaField
        name="goal"
        label="Goal"
        hint="With a goal, the agent keeps working until it reports that the goal is met or its steps run out. Without one, it answers and waits."
        optional
        rows={3}
      />
    </FormSection>
  );
}
