/** The API key of a provider: written and never read. One that is kept stays until it is replaced or removed. */
import { KeyRound } from "lucide-react";
import type { ReactNode } from "react";
import type { UseFormReturn } from "react-hook-form";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import type { ProviderView } from "@/protocol/api";
import { keyProblem, movesKey, type ProviderValues } from "./provider-form";

interface KeyFieldProps {
  form: UseFormReturn<ProviderValues>;
  provider: ProviderView | undefined;
}

export function KeyField({ form, provider }: KeyFieldProps): ReactNode {
  const values = form.watch();
  const choose = (choice: ProviderValues["keyChoice"]) => {
    form.setValue("keyChoice", choice, { shouldDirty: true });
    form.clearErrors("apiKey");
    if (choice === "replace") setTimeout(() => form.setFocus("apiKey"));
  };
  if (values.keyChoice !== "replace") {
    const moves = movesKey(values, provider);
    const kept = values.keyChoice === "keep";
    return (
      <div className="flex flex-col gap-1.5">
        <span className="text-sm font-medium">API key</span>
        <div className="flex flex-wrap items-center gap-2 rounded-lg border border-line bg-panel px-3 py-2 text-sm">
          <KeyRound className="size-4 text-soft" aria-hidden />
          <span className="min-w-0 flex-1 text-soft">
            {kept ? "A key is stored. It is never shown." : "The key will be removed when you save."}
          </span>
          <Button size="small" onClick={() => choose("replace")}>
            {kept ? "Replace" : "Enter a key"}
          </Button>
          <Button size="small" look="quiet" onClick={() => choose(kept ? "remove" : "keep")}>
            {kept ? "Remove" : "Keep"}
          </Button>
        </div>
        {moves && (
          <p className="text-[0.8125rem] text-warn" role="status">
            The address changed: enter the key again. A key is only sent to the address it was entered for.
          </p>
        )}
      </div>
    );
  }
  const problem = form.formState.errors.apiKey?.message;
  return (
    <Field
      label="API key"
      optional={values.baseUrl.trim() !== ""}
      hint="Encrypted before it is stored, and never shown again."
      problem={problem}
    >
      {(control) => (
        <div className="flex gap-2">
          <Input
            {...control}
            type="password"
            autoComplete="off"
            maxLength={4096}
            spellCheck={false}
            data-1p-ignore
            className="font-mono text-[0.8125rem]"
            {...form.register("apiKey", { validate: check })}
          />
          {provider?.has_key && <Button onClick={() => choose("keep")}>Keep the stored key</Button>}
        </div>
      )}
    </Field>
  );
}

function check(key: string, { baseUrl, keyChoice }: ProviderValues): string | true {
  if (keyChoice !== "replace") return true;
  if (key.trim() === "" && baseUrl.trim() === "")
    return "Enter a key, or the base URL of a service that needs no key.";
  return keyProblem(key) ?? true;
}
