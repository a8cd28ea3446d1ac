/** A new password, entered twice, with a word on how good it is. It stands in a `FormProvider`. */
import type { ReactNode } from "react";
import { useFormContext } from "react-hook-form";
import { cx } from "@/lib/class-names";
import { PASSWORD_MAX_CHARS, passwordProblem, passwordStrength } from "@/lib/password";
import { Field, Input } from "./ui/field";

export interface NewPasswordValues {
  password: string;
  again: string;
}

const TONES = ["bg-bad", "bg-warn", "bg-good", "bg-good"];

interface NewPasswordProps {
  /** Whose password it is: it must not be the address itself. */
  email: string;
  label?: string;
}

export function NewPassword({ email, label = "Password" }: NewPasswordProps): ReactNode {
  const form = useFormContext<NewPasswordValues>();
  const { errors } = form.formState;
  const password = form.watch("password");
  const strength = passwordStrength(password, email);
  return (
    <>
      <Field
        label={label}
        hint={password ? undefined : "At least 12 characters. A few words that you remember work best."}
        problem={errors.password?.message}
      >
        {(control) => (
          <Input
            {...control}
            type="password"
            autoComplete="new-password"
            maxLength={PASSWORD_MAX_CHARS}
            {...form.register("password", {
              validate: (value) => passwordProblem(value, email) ?? true,
              onChange: () => {
                if (form.getValues("again")) void form.trigger("again");
              },
            })}
          />
        )}
      </Field>
      {password && (
        <div className="-mt-2 flex items-center gap-3" role="status">
          <div className="flex w-24 shrink-0 gap-1" aria-hidden>
            {[0, 1, 2].map((part) => (
              <div
                key={part}
                className={cx(
                  "h-1 flex-1 rounded-full",
                  strength.level > part || (strength.level === 0 && part === 0)
                    ? TONES[strength.level]
                    : "bg-hover",
                )}
              />
            ))}
          </div>
          {!errors.password && <p className="text-[0.8125rem] text-soft">{strength.words}</p>}
        </div>
      )}
      <Field label="Confirm password" problem={errors.again?.message}>
        {(control) => (
          <Input
            {...control}
            type="password"
            autoComplete="new-password"
            maxLength={PASSWORD_MAX_CHARS}
            {...form.register("again", {
              validate: (value, { password: first }) => value === first || "The passwords do not match.",
            })}
          />
        )}
      </Field>
    </>
  );
}
