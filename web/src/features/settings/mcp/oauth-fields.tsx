/** How people sign in at a server with OAuth: each for themselves or one for the team, with which client. */
import type { ReactNode } from "react";
import { useFormContext } from "react-hook-form";
import { Field, Input, Select } from "@/components/ui/field";
import { issuerProblem, type McpForm } from "./mcp-form";

export function OAuthFields({ hasClient }: { hasClient: boolean }): ReactNode {
  const { register, formState } = useFormContext<McpForm>();
  const { errors } = formState;
  return (
    <>
      <Field label="Connection" hint="You connect after saving, on the server's page." className="sm:w-1/2">
        {(control) => (
          <Select {...control} {...register("oauthScope")}>
            <option value="user">Each person connects</option>
            <option value="team">One for the whole team</option>
          </Select>
        )}
      </Field>
      <details open={hasClient} className="rounded-xl border border-line px-3.5 py-2.5 text-sm">
        <summary className="cursor-pointer font-medium">Use a client registered by hand</summary>
        <p className="mt-1 mb-3 text-[0.8125rem] text-soft">
          Leave this empty unless the service asks for it: most servers need no registration.
        </p>
        <div className="flex flex-col gap-4">
          <Field label="Issuer" optional problem={errors.issuer?.message}>
            {(control) => (
              <Input
                {...control}
                inputMode="url"
                placeholder="https://auth.example.com"
                autoComplete="off"
                spellCheck={false}
                className="font-mono text-[0.8125rem]"
                {...register("issuer", { validate: (_, form) => issuerProblem(form) ?? true })}
              />
            )}
          </Field>
          <Field label="Client ID" optional problem={errors.clientId?.message}>
            {(control) => (
              <Input
                {...control}
                autoComplete="off"
                spellCheck={false}
                className="font-mono text-[0.8125rem]"
                {...register("clientId", {
                  validate: (id, form) =>
                    form.auth !== "oauth" || id.trim() || !form.clientSecret.trim()
                      ? true
                      : "Enter the client that the secret is for.",
                })}
              />
            )}
          </Field>
          <Field
            label="Client secret"
            optional
            hint="Encrypted before it is stored, and never shown again. Empty: a stored one is kept."
            problem={errors.clientSecret?.message}
          >
            {(control) => (
              <Input
                {...control}
                type="password"
                autoComplete="off"
                spellCheck={false}
                data-1p-ignore
                className="font-mono text-[0.8125rem]"
                {...register("clientSecret")}
              />
            )}
          </Field>
        </div>
      </details>
    </>
  );
}
