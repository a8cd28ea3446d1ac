/** What of an answer the model gets, and how long it may take. */
import type { ReactNode } from "react";
import type { UseFormReturn } from "react-hook-form";
import { Field, Input } from "@/components/ui/field";
import { Card } from "@/components/ui/page";
import {
  LONGEST_TIMEOUT_S,
  resultPathProblem,
  type ToolForm,
  timeoutProblem,
  USUAL_TIMEOUT_S,
} from "./tool-form";

export function AnswerFields({ form }: { form: UseFormReturn<ToolForm> }): ReactNode {
  const { register, formState } = form;
  const { errors } = formState;
  return (
    <Card title="Response">
      <div className="grid gap-4 sm:grid-cols-[minmax(0,1fr)_10rem]">
        <Field
          label="Result path"
          optional
          hint="The part of a JSON response that the model sees, such as order.lines.0. Leave empty for all of it."
          problem={errors.resultPath?.message}
        >
          {(field) => (
            <Input
              {...field}
              {...register("resultPath", { validate: resultPathProblem })}
              placeholder="data.items"
              autoComplete="off"
              spellCheck={false}
              className="font-mono text-[0.8125rem]"
            />
          )}
        </Field>
        <Field
          label="Timeout (seconds)"
          hint={`Default: ${USUAL_TIMEOUT_S}. At most ${LONGEST_TIMEOUT_S}.`}
          problem={errors.timeoutS?.message}
        >
          {(field) => (
            <Input
              {...field}
              {...register("timeoutS", { validate: timeoutProblem })}
              inputMode="decimal"
              placeholder={String(USUAL_TIMEOUT_S)}
              autoComplete="off"
            />
          )}
        </Field>
      </div>
    </Card>
  );
}
