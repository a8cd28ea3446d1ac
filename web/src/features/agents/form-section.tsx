/** Parts of the agent's form: a box with a heading, and the fields that are a line of text. */
import { type ComponentProps, type ReactNode, useId } from "react";
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
  name: Exclude<FieldName, "tools" | "handoffs" | "search_conversations" | "memory_update_async">;
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

interface Choice {
  value: string;
  label: string;
  hint: string;
}

/** One of several, each with a sentence on what it means. */
export function RadioField({
  name,
  label,
  choices,
}: {
  name: "approval" | "memory";
  label: string;
  choices: readonly Choice[];
}): ReactNode {
  const { register } = useFormContext<AgentValues>();
  const id = useId();
  return (
    <fieldset className="relative flex flex-col gap-3">
      <legend className="sr-only">{label}</legend>
      {choices.map(({ value, label, hint }) => (
        <div key={value} className="flex items-start gap-3">
          <input
            id={`${id}-${value}`}
            type="radio"
            value={value}
            aria-describedby={`${id}-${value}-hint`}
            className="mt-1 size-4 shrink-0 accent-accent"
            {...register(name)}
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
  );
}
