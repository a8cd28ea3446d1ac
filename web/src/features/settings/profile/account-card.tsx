/** The name and the e-mail address of an account. */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useForm } from "react-hook-form";
import { api } from "@/api/client";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import { meQuery } from "@/api/queries";
import { useFresh } from "@/components/reauthentication";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { Card } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { useToast } from "@/components/ui/toast";
import { isBlank } from "@/lib/blank";
import type { AccountView } from "@/protocol/api";

export function AccountCard({ account }: { account: AccountView }): ReactNode {
  const queryClient = useQueryClient();
  const fresh = useFresh();
  const toast = useToast();
  const form = useForm({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    values: { name: account.name, email: account.email },
  });
  const { errors, isSubmitting, isDirty } = form.formState;
  const save = form.handleSubmit(async ({ name, email }) => {
    try {
      const body = { name: name.trim(), email: email.trim() };
      await fresh(() => api.PATCH("/api/account", { body }));
      await queryClient.invalidateQueries(meQuery);
      toast.done("Account saved");
    } catch (thrown) {
      placeProblems(thrown, form, { email_taken: "email", invalid_email: "email" });
    }
  });
  const problem = formProblem(form);
  return (
    <Card title="Account">
      <form noValidate onSubmit={(event) => void save(event)} className="flex flex-col gap-4">
        {problem && <ProblemNote problem={problem} />}
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Name" problem={errors.name?.message}>
            {(control) => (
              <Input
                {...control}
                autoComplete="name"
                maxLength={100}
                {...form.register("name", { validate: (name) => !isBlank(name) || "Enter your name." })}
              />
            )}
          </Field>
          <Field label="Email" hint="Used to sign in." problem={errors.email?.message}>
            {(control) => (
              <Input
                {...control}
                type="email"
                autoComplete="email"
                maxLength={254}
                {...form.register("email", {
                  validate: (email) =>
                    /^\S+@\S+$/.test(email.trim()) || "Enter an address such as ann@example.com.",
                })}
              />
            )}
          </Field>
        </div>
        <div>
          <Button type="submit" look="primary" busy={isSubmitting} disabled={!isDirty}>
            Save
          </Button>
        </div>
      </form>
    </Card>
  );
}
