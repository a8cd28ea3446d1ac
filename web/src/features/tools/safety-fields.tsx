/** What a call of a tool does, and who decides about it. */
import type { ReactNode } from "react";
import { type Control, Controller } from "react-hook-form";
import { Card } from "@/components/ui/page";
import { APPROVALS, EFFECTS } from "@/lib/tool-words";
import { ChoiceField } from "./choice-field";
import type { ToolForm } from "./tool-form";

export function SafetyFields({ control }: { control: Control<ToolForm> }): ReactNode {
  return (
    <Card title="Safety">
      <div className="flex flex-col gap-5">
        <Controller
          control={control}
          name="effect"
          render={({ field }) => (
            <ChoiceField
              label="Effect of a call"
              options={EFFECTS}
              order={["read", "idempotent", "once"]}
              value={field.value}
              onChange={field.onChange}
            />
          )}
        />
        <Controller
          control={control}
          name="approval"
          render={({ field }) => (
            <ChoiceField
              label="Approval"
              hint="An agent's settings can override this."
              options={APPROVALS}
              order={["never", "ask"]}
              value={field.value}
              onChange={field.onChange}
            />
          )}
        />
      </div>
    </Card>
  );
}
