/** The bearer token of an MCP server: written and never read. A stored one stays until it is replaced. */
import { KeyRound } from "lucide-react";
import type { ReactNode } from "react";
import { useFormContext } from "react-hook-form";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import type { McpServerView } from "@/protocol/api";
import { type McpForm, tokenProblem } from "./mcp-form";

export function TokenField({ stored }: { stored: McpServerView | undefined }): ReactNode {
  const { register, setValue, setFocus, clearErrors, watch, formState } = useFormContext<McpForm>();
  const choose = (choice: McpForm["tokenChoice"]) => {
    setValue("tokenChoice", choice, { shouldDirty: true });
    clearErrors("token");
    if (choice === "replace") setTimeout(() => setFocus("token"));
  };
  const problem = formState.errors.token?.message;
  if (watch("tokenChoice") === "keep")
    return (
      <div className="flex flex-col gap-1.5">
        <span className="text-sm font-medium">Bearer token</span>
        <div className="flex flex-wrap items-center gap-2 rounded-lg border border-line bg-panel px-3 py-2 text-sm">
          <KeyRound className="size-4 text-soft" aria-hidden />
          <span className="min-w-0 flex-1 text-soft">A token is stored. It is never shown.</span>
          <Button size="small" onClick={() => choose("replace")}>
            Replace
          </Button>
        </div>
        {/* Checked when the form is sent: another host needs the token again. */}
        <input
          type="hidden"
          {...register("token", { validate: (_, form) => tokenProblem(form, stored) ?? true })}
        />
        {problem && (
          <p role="alert" className="text-[0.8125rem] text-bad">
            {problem}
          </p>
        )}
      </div>
    );
  return (
    <Field
      label="Bearer token"
      hint="Sent as Authorization: Bearer. Encrypted before it is stored, and never shown again."
      problem={problem}
    >
      {(control) => (
        <div className="flex gap-2">
          <Input
            {...control}
            type="password"
            autoComplete="off"
            spellCheck={false}
            data-1p-ignore
            className="font-mono text-[0.8125rem]"
            {...register("token", { validate: (_, form) => tokenProblem(form, stored) ?? true })}
          />
          {stored?.has_token && <Button onClick={() => choose("keep")}>Keep the stored token</Button>}
        </div>
      )}
    </Field>
  );
}
