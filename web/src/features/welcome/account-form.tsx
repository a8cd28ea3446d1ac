/** What a new account needs: a name, an e-mail address, a password. */
import type { ReactNode } from "react";
import { FormProvider, useForm } from "react-hook-form";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import { NewPassword, type NewPasswordValues } from "@/components/new-password";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { isBlank } from "@/lib/blank";

export interface NewAccount {
  name: string;
  email: string;
  password: string;
}

interface AccountFormProps {
  /** An address that cannot be another, as an invitation's. */
  email?: string | null;
  name?: string;
  action: string;
  /** Makes the account; what it throws is shown on the form. */
  onSend: (account: NewAccount) => Promise<void>;
  /** Beside the button, such as a way around. */
  beside?: ReactNode;
}

const PLACES = { email_taken: "email", invalid_email: "email", weak_password: "password" } as const;

export function AccountForm({ email, name = "", action, onSend, beside }: AccountFormProps): ReactNode {
  const form = useForm<NewAccount & NewPasswordValues>({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    defaultValues: { name, email: email ?? "", password: "", again: "" },
  });
  const { errors, isSubmitting } = form.formState;
  const send = form.handleSubmit(async ({ again: _, ...account }) => {
    try {
      await onSend({ ...account, email: account.email.trim(), name: account.name.trim() });
    } catch (thrown) {
      placeProblems(thrown, form, PLACES);
    }
  });
  const problem = formProblem(form);
  return (
    <FormProvider {...form}>
      <form noValidate onSubmit={(event) => void send(event)} className="flex flex-col gap-4">
        {problem && <ProblemNote problem={problem} />}
        <Field label="Name" problem={errors.name?.message}>
          {(control) => (
            <Input
              {...control}
              autoComplete="name"
              maxLength={100}
              {...form.register("name", { validate: (value) => !isBlank(value) || "Enter your name." })}
            />
          )}
        </Field>
        <Field
          label="Email"
          hint={email ? "The invitation is for this address." : "Used to sign in. agio never sends email."}
          problem={errors.email?.message}
        >
          {(control) => (
            <Input
              {...control}
              type="email"
              autoComplete="username"
              maxLength={254}
              readOnly={Boolean(email)}
              {...form.register("email", {
                validate: (value) =>
                  /^\S+@\S+$/.test(value.trim()) || "Enter an address such as ann@example.com.",
              })}
            />
          )}
        </Field>
        <NewPassword email={form.watch("email")} />
        <div className="mt-1 flex flex-wrap items-center gap-2">
          <Button type="submit" look="primary" busy={isSubmitting}>
            {action}
          </Button>
          {beside}
        </div>
      </form>
    </FormProvider>
  );
}
