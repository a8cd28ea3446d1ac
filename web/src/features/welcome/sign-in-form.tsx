/** Sign-in with email address and password. */
import type { ReactNode } from "react";
import { useForm } from "react-hook-form";
import { api } from "@/api/client";
import { formProblem, placeProblems } from "@/api/form-problems";
import { problemOf } from "@/api/problem";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { PASSWORD_MAX_CHARS } from "@/lib/password";
import { useCountdown } from "./countdown";

interface SignInFormProps {
  /** An address that is known already. */
  email?: string | undefined;
  action?: string;
  /** What to do after the sign-in; the form stays busy meanwhile. */
  onSignedIn: () => Promise<void> | void;
}

export function SignInForm({ email = "", action = "Sign in", onSignedIn }: SignInFormProps): ReactNode {
  const form = useForm({ defaultValues: { email, password: "" } });
  const [waiting, wait] = useCountdown();
  const { errors, isSubmitting, isSubmitSuccessful } = form.formState;
  const signIn = form.handleSubmit(async (body) => {
    try {
      await api.POST("/api/sign-in", { body });
    } catch (thrown) {
      placeProblems(thrown, form);
      const { code, details } = problemOf(thrown);
      if (typeof details.retry_after_s === "number") wait(details.retry_after_s);
      if (code === "wrong_credentials") form.setFocus("password", { shouldSelect: true });
      return;
    }
    await onSignedIn();
  });
  const problem = formProblem(form);
  return (
    <form noValidate onSubmit={(event) => void signIn(event)} className="flex flex-col gap-4">
      {problem && <ProblemNote problem={problem} />}
      <Field label="Email" problem={errors.email?.message}>
        {(control) => (
          <Input
            {...control}
            type="email"
            autoComplete="username"
            autoFocus={!email}
            maxLength={254}
            {...form.register("email", {
              validate: (value) => value.trim().length > 2 || "Enter your email address.",
            })}
          />
        )}
      </Field>
      <Field label="Password" problem={errors.password?.message}>
        {(control) => (
          <Input
            {...control}
            type="password"
            autoComplete="current-password"
            maxLength={PASSWORD_MAX_CHARS}
            {...form.register("password", { required: "Enter your password." })}
          />
        )}
      </Field>
      <Button
        type="submit"
        look="primary"
        busy={isSubmitting || (isSubmitSuccessful && !problem)}
        disabled={waiting > 0}
      >
        {waiting > 0 ? `Try again in ${waiting} s` : action}
      </Button>
    </form>
  );
}
