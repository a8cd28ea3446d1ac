/** What agents know about the user: fields written by the user, or by agents. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { Plus, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { useFieldArray, useForm } from "react-hook-form";
import { api, data } from "@/api/client";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import { profileQuery } from "@/api/team-queries";
import { Button, IconButton } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Field, Input, Textarea } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import { formatAgo } from "@/lib/format";
import type { ProfileView } from "@/protocol/api";
import { changesOf, MAX_VALUE_CHARS, nameProblem, type Row, rowsOf } from "./profile-changes";

export function KnownFacts(): ReactNode {
  const profile = useQuery(profileQuery);
  if (profile.isPending) return <SkeletonRows rows={2} />;
  if (profile.isError) return <ProblemNote problem={profile.error} onRetry={() => void profile.refetch()} />;
  return <FactsForm key={profile.data.version} profile={profile.data} />;
}

function FactsForm({ profile }: { profile: ProfileView }): ReactNode {
  const queryClient = useQueryClient();
  const toast = useToast();
  const confirm = useConfirm();
  const form = useForm<{ rows: Row[] }>({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    defaultValues: { rows: rowsOf(profile.fields) },
  });
  const { fields, append, remove } = useFieldArray({ control: form.control, name: "rows" });
  const { errors, isSubmitting } = form.formState;
  const changes = changesOf(profile.fields, form.watch("rows"));
  const changed = Object.keys(changes).length > 0;
  useBlocker({
    shouldBlockFn: async () =>
      !(await confirm({
        title: "Leave without saving?",
        message: "Your changes will be lost.",
        action: "Leave",
        danger: true,
      })),
    enableBeforeUnload: true,
    disabled: !changed,
  });
  const save = form.handleSubmit(async ({ rows }) => {
    try {
      const body = { changes: changesOf(profile.fields, rows) };
      queryClient.setQueryData(profileQuery.queryKey, await data(api.PATCH("/api/profile", { body })));
      toast.done("Profile saved");
    } catch (thrown) {
      placeProblems(thrown, form);
    }
  });
  const problem = formProblem(form);
  return (
    <form noValidate onSubmit={(event) => void save(event)} className="flex flex-col gap-4">
      {problem && <ProblemNote problem={problem} />}
      {fields.length === 0 && (
        <p className="text-sm text-soft">
          Nothing yet. Add what every agent should know, such as your language or city. Agents can add facts
          too.
        </p>
      )}
      {fields.map((row, index) => (
        <div
          key={row.id}
          className="grid grid-cols-[1fr_auto] items-start gap-2 sm:grid-cols-[12rem_1fr_auto]"
        >
          <Field label={`Field ${index + 1}`} problem={errors.rows?.[index]?.name?.message}>
            {(control) => (
              <Input
                {...control}
                maxLength={64}
                placeholder="language"
                spellCheck={false}
                className="font-mono text-[0.8125rem]"
                {...form.register(`rows.${index}.name`, {
                  validate: (name, values) => nameProblem(name, values.rows) ?? true,
                })}
              />
            )}
          </Field>
          <Field
            label="Value"
            className="order-last col-span-2 sm:order-none sm:col-span-1"
            problem={errors.rows?.[index]?.value?.message}
          >
            {(control) => (
              <Textarea
                {...control}
                rows={1}
                maxLength={MAX_VALUE_CHARS}
                className="min-h-9! py-1.5!"
                {...form.register(`rows.${index}.value`)}
              />
            )}
          </Field>
          <IconButton
            label={`Remove field ${index + 1}`}
            size="medium"
            className="mt-7"
            onClick={() => remove(index)}
          >
            <Trash2 className="size-4" aria-hidden />
          </IconButton>
        </div>
      ))}
      <div className="flex flex-wrap items-center gap-2">
        <Button onClick={() => append({ name: "", value: "" })}>
          <Plus className="size-4" aria-hidden /> Add a field
        </Button>
        <Button type="submit" look="primary" busy={isSubmitting} disabled={!changed}>
          Save
        </Button>
        {profile.updated_at !== null && (
          <span className="text-[0.8125rem] text-soft">Updated {formatAgo(profile.updated_at)}</span>
        )}
      </div>
    </form>
  );
}
