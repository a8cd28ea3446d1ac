/** The headers that are sent to a host. Secret ones are written and never read. */
import { Lock, Plus, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { Controller, useFieldArray, useFormContext, useWatch } from "react-hook-form";
import { Button, IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { RowCell } from "@/components/ui/row-cell";
import { Switch } from "@/components/ui/switch";
import {
  emptyHeader,
  type HeaderRow,
  headerNameProblem,
  headerValueProblem,
  isStored,
  type StoredHeaders,
} from "./header-rows";

const MOST = 32;

/** What the form around the field has besides. */
interface HeaderForm {
  url: string;
  headers: HeaderRow[];
}

interface HeadersFieldProps {
  stored: StoredHeaders | undefined;
}

export function HeadersField({ stored }: HeadersFieldProps): ReactNode {
  const form = useFormContext<HeaderForm>();
  const { fields, append, remove } = useFieldArray({ control: form.control, name: "headers" });
  const problem = form.formState.errors.headers?.root?.message ?? form.formState.errors.headers?.message;
  return (
    <fieldset aria-label="Headers" className="flex min-w-0 flex-col gap-3">
      {fields.map((field, at) => (
        <HeaderLine key={field.id} at={at} stored={stored} onRemove={() => remove(at)} />
      ))}
      {problem && (
        <p role="alert" className="text-[0.8125rem] text-bad">
          {problem}
        </p>
      )}
      <div>
        <Button size="small" disabled={fields.length >= MOST} onClick={() => append(emptyHeader())}>
          <Plus className="size-3.5" aria-hidden />
          Add header
        </Button>
      </div>
    </fieldset>
  );
}

interface HeaderLineProps extends HeadersFieldProps {
  at: number;
  onRemove: () => void;
}

function HeaderLine({ at, stored, onRemove }: HeaderLineProps): ReactNode {
  const { control, register, setValue, getValues, trigger, formState } = useFormContext<HeaderForm>();
  const row = useWatch({ control, name: `headers.${at}` });
  const url = useWatch({ control, name: "url" });
  const errors = formState.errors.headers?.[at];
  const of = `of header ${at + 1}`;
  const kept = isStored(row, url, stored) && !row.replacing;
  const set = (change: { secret?: boolean; replacing?: boolean; value?: string }) => {
    setValue(`headers.${at}`, { ...getValues(`headers.${at}`), ...change }, { shouldDirty: true });
    if (formState.isSubmitted) void trigger(`headers.${at}`);
  };
  return (
    <div className="flex flex-col gap-2.5 rounded-xl border border-line p-3.5">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
        <RowCell
          label="Name"
          of={of}
          problem={errors?.name?.message}
          className="basis-full sm:flex-1 sm:basis-0"
        >
          {(cell) => (
            <Input
              {...cell}
              {...register(`headers.${at}.name`, {
                validate: (name) => headerNameProblem(name, getValues("headers")),
                onChange: () => {
                  if (errors?.value) void trigger(`headers.${at}.value`);
                },
              })}
              placeholder="Authorization"
              autoComplete="off"
              spellCheck={false}
              className="font-mono text-[0.8125rem]"
            />
          )}
        </RowCell>
        <div className="flex flex-1 items-center justify-between gap-2 sm:h-9 sm:flex-none sm:translate-y-5">
          <Switch label="Secret" checked={row.secret} onChange={(secret) => set({ secret })} />
          <IconButton label={`Remove header ${row.name || at + 1}`} onClick={onRemove}>
            <Trash2 className="size-4" aria-hidden />
          </IconButton>
        </div>
      </div>
      {kept ? (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <p className="flex min-w-0 flex-1 items-center gap-1.5 text-[0.8125rem] text-soft">
            <Lock className="size-3.5 shrink-0" aria-hidden />
            The value is stored and never shown.
          </p>
          <Button size="small" onClick={() => set({ replacing: true })}>
            Replace
          </Button>
        </div>
      ) : (
        <RowCell label="Value" of={of} problem={errors?.value?.message}>
          {(cell) => (
            <div className="flex items-center gap-2">
              <Controller
                control={control}
                name={`headers.${at}.value`}
                rules={{
                  validate: () =>
                    headerValueProblem(getValues(`headers.${at}`), getValues("url"), stored) ?? true,
                }}
                render={({ field }) => (
                  <Input
                    {...cell}
                    {...field}
                    type={row.secret ? "password" : "text"}
                    placeholder={row.secret ? "Bearer …" : "application/json"}
                    autoComplete={row.secret ? "new-password" : "off"}
                    spellCheck={false}
                    className="font-mono text-[0.8125rem]"
                  />
                )}
              />
              {row.replacing && isStored(row, url, stored) && (
                <Button size="small" onClick={() => set({ replacing: false, value: "" })}>
                  Keep the stored value
                </Button>
              )}
            </div>
          )}
        </RowCell>
      )}
    </div>
  );
}
