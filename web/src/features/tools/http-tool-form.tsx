/** The form of an HTTP tool: a request that the model fills in. */

import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Controller, FormProvider, type UseFormReturn, useWatch } from "react-hook-form";
import { problemOf } from "@/api/problem";
import type { StoredHeaders } from "@/components/headers/header-rows";
import { HeadersField } from "@/components/headers/headers-field";
import { OvertakenNote } from "@/components/overtaken-note";
import { Button } from "@/components/ui/button";
import { Field, Input, Select, Textarea } from "@/components/ui/field";
import { Card } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { writeJson } from "@/lib/json";
import { originOf } from "@/lib/origin";
import { COMMAND_KEY, useShortcut } from "@/lib/shortcuts";
import { AnswerFields } from "./answer-fields";
import { objectIn } from "./json";
import { schemaProblem } from "./parameter-table";
import { ParametersField } from "./parameters-field";
import { SafetyFields } from "./safety-fields";
import { nameProblem, placesOf, type ToolForm } from "./tool-form";
import { UrlReport } from "./url-report";
import { destinationProblem, destinations, METHODS, urlProblem, withPlaceholders } from "./url-template";

// What has the focus is not hidden behind the bar with the buttons.
const FORM = "flex min-w-0 flex-col gap-5 [&_:is(input,textarea,select,button)]:scroll-mb-32";

interface HttpToolFormProps {
  form: UseFormReturn<ToolForm>;
  /** Names that other tools have. */
  taken: string[];
  stored?: StoredHeaders | undefined;
  isNew: boolean;
  /** Another user saved a newer version. */
  overtaken: boolean;
  onSave: (form: ToolForm) => Promise<void>;
  onDiscard: () => void;
}

export function HttpToolForm(props: HttpToolFormProps): ReactNode {
  const { form, taken, stored, isNew, overtaken, onSave, onDiscard } = props;
  const { control, register, formState, setError, clearErrors, setValue } = form;
  const { errors, isDirty, isSubmitting } = formState;
  const [refusal, setRefusal] = useState<unknown>();
  const rowsProblem = useRef<string>(undefined);
  const [url, method, text] = useWatch({ control, name: ["url", "method", "parameters"] });
  const schema = useMemo(() => objectIn(text), [text]);
  useRecheckedSecrets(form, originOf(url));

  const setParameters = (next: string, problem?: string) => {
    rowsProblem.current = problem;
    setValue("parameters", next, { shouldDirty: true, shouldValidate: true });
    if (errors.url) clearErrors("url");
  };
  const send = async (values: ToolForm) => {
    setRefusal(undefined);
    const misplaced = destinations(values.url, values.method, objectIn(values.parameters)).find(
      ({ problem }) => problem,
    );
    if (misplaced) {
      setError("url", { message: destinationProblem(misplaced) ?? "" }, { shouldFocus: true });
      return;
    }
    try {
      await onSave(values);
    } catch (thrown) {
      const places = placesOf(problemOf(thrown), values);
      places.forEach(([place, message], at) => {
        setError(place, { type: "server", message }, { shouldFocus: at === 0 });
      });
      if (places.length === 0) setRefusal(thrown);
    }
  };
  const submit = form.handleSubmit(send);
  const save = useCallback(() => {
    if (isNew || isDirty) void submit();
  }, [isNew, isDirty, submit]);
  useShortcut({ key: "s", command: true }, save);

  return (
    <form onSubmit={(event) => void submit(event)} noValidate className={FORM}>
      <Card title="Basics">
        <div className="flex flex-col gap-4">
          <Field
            label="Name"
            hint="The name the model uses. Letters, digits, _ and -."
            problem={errors.name?.message}
          >
            {(field) => (
              <Input
                {...field}
                {...register("name", { validate: (name) => nameProblem(name, taken) })}
                placeholder="find_order"
                autoComplete="off"
                spellCheck={false}
                className="font-mono text-[0.8125rem]"
              />
            )}
          </Field>
          <Field
            label="Description"
            hint="The model reads this to decide when to call the tool. Describe what it does, what it returns and when to use it."
            problem={errors.description?.message}
          >
            {(field) => (
              <Textarea
                {...field}
                {...register("description", {
                  maxLength: { value: 2000, message: "At most 2,000 characters." },
                })}
                rows={3}
                placeholder="Looks up an order by its number and returns its status and lines."
              />
            )}
          </Field>
        </div>
      </Card>

      <Card title="Request">
        <div className="flex flex-col gap-4">
          <Field label="Method" problem={errors.method?.message} className="w-32">
            {(field) => (
              <Select {...field} {...register("method")}>
                {METHODS.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </Select>
            )}
          </Field>
          <Field
            label="URL"
            hint="Write {name} in the path or query for values that the model supplies."
            problem={errors.url?.message}
          >
            {(field) => (
              <Textarea
                {...field}
                {...register("url", {
                  validate: urlProblem,
                  maxLength: { value: 2000, message: "At most 2,000 characters." },
                })}
                rows={1}
                placeholder="https://shop.example.com/api/orders/{number}"
                autoComplete="off"
                inputMode="url"
                spellCheck={false}
                onKeyDown={(event) => {
                  if (event.key !== "Enter") return;
                  event.preventDefault();
                  event.currentTarget.form?.requestSubmit();
                }}
                className="field-sizing-content min-h-9! resize-none font-mono text-[0.8125rem] break-all"
              />
            )}
          </Field>
          <UrlReport
            url={url}
            method={method}
            schema={schema}
            onAdd={() => setParameters(writeJson(withPlaceholders(url, schema)))}
          />
        </div>
      </Card>

      <Card title="Parameters">
        <Controller
          control={control}
          name="parameters"
          rules={{ validate: (value) => rowsProblem.current ?? schemaProblem(value) ?? true }}
          render={({ field }) => (
            <div ref={(element) => field.ref({ focus: () => focusWithin(element) })}>
              <ParametersField
                value={field.value}
                onChange={setParameters}
                problem={errors.parameters?.message}
              />
            </div>
          )}
        />
      </Card>

      <Card title="Headers">
        <p className="-mt-2 mb-3 text-[0.8125rem] text-soft">
          Sent with every call and never shown to the model. Mark keys and passwords as secret: they are
          encrypted and only sent to the host they were entered for.
        </p>
        <FormProvider {...form}>
          <HeadersField stored={stored} />
        </FormProvider>
      </Card>

      <AnswerFields form={form} />

      <SafetyFields control={control} />

      <div className="sticky bottom-4 z-10 flex flex-col gap-3 rounded-2xl border border-line bg-raised p-3 shadow-lg">
        {overtaken && <OvertakenNote what="tool" />}
        {refusal !== undefined && <ProblemNote problem={refusal} />}
        <div className="flex flex-wrap items-center justify-end gap-2">
          <p className="mr-auto pl-2 text-[0.8125rem] text-soft" aria-live="polite">
            {isDirty ? "Unsaved changes" : isNew ? "Not created yet" : "All changes saved"}
          </p>
          {isDirty && (
            <Button
              onClick={() => {
                rowsProblem.current = undefined;
                setRefusal(undefined);
                onDiscard();
              }}
            >
              Discard
            </Button>
          )}
          <Button
            type="submit"
            look="primary"
            busy={isSubmitting}
            disabled={!isNew && !isDirty}
            aria-keyshortcuts="Control+S Meta+S"
            title={`${COMMAND_KEY}+S`}
          >
            {isNew ? "Create tool" : "Save"}
          </Button>
        </div>
      </div>
    </form>
  );
}

/** A secret belongs to a host: with another one, what was kept has to be entered again. */
function useRecheckedSecrets({ getValues, trigger }: UseFormReturn<ToolForm>, origin: string): void {
  const before = useRef(origin);
  useEffect(() => {
    if (before.current === origin) return;
    before.current = origin;
    getValues("headers").forEach(({ secret }, at) => {
      if (secret) void trigger(`headers.${at}.value`);
    });
  }, [origin, getValues, trigger]);
}

/** Goes to the first control of the way that is open; the tabs themselves would open another. */
function focusWithin(element: HTMLElement | null): void {
  const panel = element?.querySelector('[role="tabpanel"][data-state="active"]');
  panel?.querySelector<HTMLElement>("textarea, input, button")?.focus();
}
