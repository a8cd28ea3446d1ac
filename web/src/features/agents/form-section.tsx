/** Parts of the agent's form: a box with a heading, and the fields that are a line of text. */
import type { ComponentProps, ReactNode } from "react";
import { get, useFormContext } from "react-hook-form";
import { Field, Input, Textarea } from "@/components/ui/field";
import { Card } from "@/components/ui/page";
import type { AgentValues, FieldName } from "./agent-values";

interface FormSectionProps {
  title: string;
  hint: ReactNode;
  children: ReactNode;
}

export function FormSection({ title, hint, children }: FormSectionProps): ReactNode {
  return (
    <Card className="relative">
      <h2 className="text-sm font-semibold">{title}</h2>
      <p className="mt-0.5 mb-4 text-[0.8125rem] text-soft">{hint}</p>
      <div className="flex flex-col gap-4">{children}</div>
    </Card>
  );
}

interface FieldOf {
  name: Exclude<FieldName, "tools" | "handoffs">;
  label: string;
  hint?: ReactNode;
  optional?: boolean;
}

/** The words about what is wrong with a field. */
export function useFieldProblem(name: FieldName): string | undefined {
  const { formState } = useFormContext<AgentValues>();
  return (get(formState.errors, name) as { message?: string } | undefined)?.message;
}

export function InputField({
  name,
  label,
  hint,
  optional,
  ...rest
}: FieldOf & Omit<ComponentProps<"input">, "name">): ReactNode {
  const { register } = useFormContext<AgentValues>();
  const problem = useFieldProblem(name);
  return (
    <Field label={label} hint={hint} problem={problem} optional={optional ?? false}>
      {(control) => <Input autoComplete="off" {...control} {...rest} {...register(name)} />}
    </Field>
  );
}

export function TextareaField({
  name,
  label,
  hint,
  optional,
  ...rest
}: FieldOf & Omit<ComponentProps<"textarea">, "name">): ReactNode {
  const { register } = useFormContext<AgentValues>();
  const problem = useFieldProblem(name);
  return (
    <Field label={label} hint={hint} problem={problem} optional={optional ?? false}>
      {(control) => <Textarea {...control} {...rest} {...register(name)} />}
    </Field>
  );
}
