/** The team's name, how long its chats are kept, and who may describe agents over the API. */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useForm } from "react-hook-form";
import { api, data } from "@/api/client";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import { meQuery } from "@/api/queries";
import { tenantQuery } from "@/api/team-queries";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Field, Input, Select } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { useToast } from "@/components/ui/toast";
import { isBlank } from "@/lib/blank";
import type { TenantView } from "@/protocol/api";

const MAX_DAYS = 36_500;

export function TeamForm({ team }: { team: TenantView }): ReactNode {
  const queryClient = useQueryClient();
  const confirm = useConfirm();
  const toast = useToast();
  const form = useForm({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    values: {
      name: team.name,
      retention_days: team.retention_days === null ? "" : String(team.retention_days),
      sdk_sessions: team.sdk_sessions,
    },
  });
  const { errors, isSubmitting, isDirty } = form.formState;
  const save = form.handleSubmit(async ({ name, retention_days, sdk_sessions }) => {
    const days = retention_days.trim() === "" ? null : Number(retention_days);
    const shorter = days !== null && (team.retention_days === null || days < team.retention_days);
    const question = {
      title: `Delete chats after ${days} ${days === 1 ? "day" : "days"}?`,
      message: "Inactive chats of all members will be permanently deleted, starting now.",
      action: "Save",
      danger: true,
    };
    if (shorter && !(await confirm(question))) return;
    try {
      const changed = await data(
        api.PATCH("/api/tenant", { body: { name: name.trim(), retention_days: days, sdk_sessions } }),
      );
      queryClient.setQueryData(tenantQuery.queryKey, changed);
      await queryClient.invalidateQueries(meQuery);
      toast.done("Team settings saved");
    } catch (thrown) {
      placeProblems(thrown, form);
    }
  });
  const problem = formProblem(form);
  return (
    <form noValidate onSubmit={(event) => void save(event)} className="flex flex-col gap-4">
      {problem && <ProblemNote problem={problem} />}
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Team name" problem={errors.name?.message}>
          {(control) => (
            <Input
              {...control}
              maxLength={100}
              {...form.register("name", {
                validate: (name) => !isBlank(name) || "Enter a name.",
              })}
            />
          )}
        </Field>
        <Field
          label="Delete inactive chats after (days)"
          hint="Leave empty to keep forever."
          problem={errors.retention_days?.message}
        >
          {(control) => (
            <Input
              {...control}
              inputMode="numeric"
              maxLength={5}
              {...form.register("retention_days", { validate: checkDays })}
            />
          )}
        </Field>
        <Field
          label="SDK sessions"
          hint="Who can set a session's prompt and model over the API."
          problem={errors.sdk_sessions?.message}
        >
          {(control) => (
            <Select {...control} {...form.register("sdk_sessions")}>
              <option value="build">Admins and owners</option>
              <option value="use">All members</option>
            </Select>
          )}
        </Field>
      </div>
      <div>
        <Button type="submit" look="primary" busy={isSubmitting} disabled={!isDirty}>
          Save
        </Button>
      </div>
    </form>
  );
}

function checkDays(text: string): string | true {
  const days = Number(text);
  return (
    text.trim() === "" ||
    (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) ||
    `Enter a whole number from 1 to ${MAX_DAYS}.`
  );
}
