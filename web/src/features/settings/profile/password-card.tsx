/** A new password. */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FormProvider, useForm } from "react-hook-form";
import { api } from "@/api/client";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import { meQuery } from "@/api/queries";
import { NewPassword, type NewPasswordValues } from "@/components/new-password";
import { useFresh } from "@/components/reauthentication";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { useToast } from "@/components/ui/toast";
import type { AccountView } from "@/protocol/api";

export function PasswordCard({ account }: { account: AccountView }): ReactNode {
  const queryClient = useQueryClient();
  const fresh = useFresh();
  const toast = useToast();
  const form = useForm<NewPasswordValues>({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    defaultValues: { password: "", again: "" },
  });
  const save = form.handleSubmit(async ({ password }) => {
    try {
      await fresh(() => api.POST("/api/account/password", { body: { password } }));
      form.reset();
      await queryClient.invalidateQueries(meQuery);
      toast.done("Password changed. Your other browsers were signed out.");
    } catch (thrown) {
      placeProblems(thrown, form, { weak_password: "password" });
    }
  });
  const problem = formProblem(form);
  return (
    <Card title={account.has_password ? "Change password" : "Set a password"}>
      <FormProvider {...form}>
        <form noValidate onSubmit={(event) => void save(event)} className="flex max-w-md flex-col gap-4">
          {problem && <ProblemNote problem={problem} />}
          <input type="hidden" autoComplete="username" value={account.email} readOnly />
          <NewPassword email={account.email} label="New password" />
          <div>
            <Button type="submit" look="primary" busy={form.formState.isSubmitting}>
              {account.has_password ? "Change password" : "Set password"}
            </Button>
          </div>
        </form>
      </FormProvider>
    </Card>
  );
}
