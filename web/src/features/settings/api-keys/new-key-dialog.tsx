/** Makes an API key, and shows it once. */
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useForm } from "react-hook-form";
import { api, data } from "@/api/client";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import type { Permission } from "@/components/access";
import { useFresh } from "@/components/reauthentication";
import { Button } from "@/components/ui/button";
import { Actions, Dialog } from "@/components/ui/dialog";
import { Field, Input, Select } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { isBlank } from "@/lib/blank";
import type { KeyBody, Me, NewKey } from "@/protocol/api";
import { ShownOnce } from "../shown-once";
import { ENDS, grantable } from "./key-rules";

interface NewKeyDialogProps {
  me: Me;
  onClose: () => void;
}

export function NewKeyDialog({ me, onClose }: NewKeyDialogProps): ReactNode {
  const [made, setMade] = useState<NewKey>();
  return made ? (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`API key "${made.name}" created`}
      description="Copy the key now. Only its hash is stored, so it cannot be shown again."
    >
      <div className="flex flex-col gap-4">
        <ShownOnce label="API key" text={made.key} />
        <ShownOnce
          label="Try it"
          text={`curl -H "Authorization: Bearer ${made.key}" ${location.origin}/api/me`}
        />
      </div>
      <Actions>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </Actions>
    </Dialog>
  ) : (
    <Dialog
      open
      onClose={onClose}
      title="New API key"
      description="For programs. The key acts as you, in this team."
    >
      <KeyForm me={me} onMade={setMade} onCancel={onClose} />
    </Dialog>
  );
}

interface KeyValues {
  name: string;
  limited: "all" | "some";
  permissions: Permission[];
  days: string;
}

interface KeyFormProps {
  me: Me;
  onMade: (key: NewKey) => void;
  onCancel: () => void;
}

function KeyForm({ me, onMade, onCancel }: KeyFormProps): ReactNode {
  const queryClient = useQueryClient();
  const fresh = useFresh();
  const form = useForm<KeyValues>({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    defaultValues: { name: "", limited: "all", permissions: ["use"], days: "90" },
  });
  const { errors, isSubmitting } = form.formState;
  const make = form.handleSubmit(async ({ name, limited, permissions, days }) => {
    const body: KeyBody = {
      name: name.trim(),
      permissions: limited === "all" ? null : permissions,
      expires_in_days: days === "" ? null : Number(days),
    };
    try {
      const key = await fresh(() => data(api.POST("/api/api-keys", { body })));
      await queryClient.invalidateQueries({ queryKey: ["api-keys"] });
      onMade(key);
    } catch (thrown) {
      placeProblems(thrown, form);
    }
  });
  const problem = formProblem(form);
  return (
    <form noValidate onSubmit={(event) => void make(event)} className="flex flex-col gap-4">
      {problem && <ProblemNote problem={problem} />}
      <Field label="Name" hint="The program that will use it." problem={errors.name?.message}>
        {(control) => (
          <Input
            {...control}
            autoFocus
            maxLength={100}
            autoComplete="off"
            {...form.register("name", { validate: (name) => !isBlank(name) || "Enter a name." })}
          />
        )}
      </Field>
      <Field label="Permissions" problem={errors.permissions?.message}>
        {(control) => (
          <Select {...control} {...form.register("limited")}>
            <option value="all">Same as mine</option>
            <option value="some">Custom</option>
          </Select>
        )}
      </Field>
      {form.watch("limited") === "some" && (
        <fieldset className="flex flex-col gap-2">
          <legend className="sr-only">Permissions</legend>
          {grantable(me).map(({ id, words }) => (
            <label key={id} className="flex items-start gap-2.5 text-sm">
              <input
                type="checkbox"
                value={id}
                className="mt-1 size-4 shrink-0 accent-accent"
                {...form.register("permissions", {
                  validate: (chosen, { limited }) =>
                    limited === "all" || chosen.length > 0 || "Choose at least one.",
                })}
              />
              <span>
                <span className="font-mono text-[0.8125rem]">{id}</span>
                <span className="text-soft"> — {words}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <Field label="Expires" problem={errors.days?.message}>
        {(control) => (
          <Select {...control} {...form.register("days")}>
            {ENDS.map(({ days, words }) => (
              <option key={words} value={days ?? ""}>
                {words}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Actions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" busy={isSubmitting}>
          Create key
        </Button>
      </Actions>
    </form>
  );
}
