/** The dialog in which a memory is written, or a memory or suggestion is changed. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useForm } from "react-hook-form";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import { agentsQuery, meQuery } from "@/api/queries";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Field, Input, Select, Textarea } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { contentProblem, type MemoryValues } from "./memory-form";
import { importanceWords, SCOPE_NAMES, SCOPES, TYPE_NAMES, TYPES } from "./memory-words";

interface MemoryDialogProps {
  title: string;
  /** The word on the button. */
  action: string;
  initial: MemoryValues;
  /** The agent can be chosen: it is a new memory. */
  choosesAgent?: boolean;
  onSave: (values: MemoryValues) => Promise<void>;
  onClose: () => void;
}

export function MemoryDialog(props: MemoryDialogProps): ReactNode {
  const { title, action, initial, choosesAgent = false, onSave, onClose } = props;
  const agents = useQuery(agentsQuery);
  const mayBuild = useQuery(meQuery).data?.permissions.includes("build") ?? false;
  const form = useForm<MemoryValues>({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    defaultValues: initial,
  });
  const { errors, isSubmitting } = form.formState;
  const { memory_type, importance, scope } = form.watch();
  const save = form.handleSubmit(async (values) => {
    try {
      const agent_id = values.agent_id || (agents.data?.[0]?.id ?? "");
      await onSave({ ...values, agent_id, importance: Number(values.importance) });
      onClose();
    } catch (thrown) {
      placeProblems(thrown, form, {
        memory_empty: "content",
        memory_too_large: "content",
        memory_exists: "content",
        memory_without_agent: "scope",
        agent_not_found: "agent_id",
      });
    }
  });
  const scopes = SCOPE_NAMES.filter((name) => {
    if (name === initial.scope) return true;
    if (name === "agent" && !mayBuild) return false;
    return name === "user" || choosesAgent || initial.agent_id !== "";
  });
  const problem = formProblem(form);
  return (
    <Dialog open onClose={onClose} title={title}>
      <form
        noValidate
        onSubmit={(event) => {
          event.stopPropagation(); // it may be opened from within another form
          void save(event);
        }}
        className="flex flex-col gap-4"
      >
        {problem && <ProblemNote problem={problem} />}
        <Field label="Memory" problem={errors.content?.message}>
          {(control) => (
            <Textarea
              {...control}
              rows={3}
              placeholder="Prefers trains to planes."
              {...form.register("content", { validate: (content) => contentProblem(content) ?? true })}
            />
          )}
        </Field>
        {choosesAgent && (
          <Field label="Agent" optional={scope === "user"} problem={errors.agent_id?.message}>
            {(control) => (
              <Select
                {...control}
                {...form.register("agent_id", {
                  // A memory for every agent may be added at any of them.
                  validate: (id, values) =>
                    id !== "" || (values.scope === "user" && !!agents.data?.length) || "Choose an agent.",
                })}
              >
                <option value="">{scope === "user" ? "Every agent" : "Choose an agent"}</option>
                {agents.data?.map((agent) => (
                  <option key={agent.id} value={agent.id}>
                    {agent.name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <Field label="Applies to" hint={SCOPES[scope].hint} problem={errors.scope?.message}>
          {(control) => (
            <Select
              {...control}
              disabled={scopes.length === 1}
              {...form.register("scope", { deps: ["agent_id"] })}
            >
              {scopes.map((name) => (
                <option key={name} value={name}>
                  {SCOPES[name].word}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Type" hint={TYPES[memory_type].hint}>
            {(control) => (
              <Select {...control} {...form.register("memory_type")}>
                {TYPE_NAMES.map((name) => (
                  <option key={name} value={name}>
                    {TYPES[name].word}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label="Date" hint="When it was said or happened." optional={initial.observed_on === ""}>
            {(control) => <Input {...control} type="date" {...form.register("observed_on")} />}
          </Field>
        </div>
        <Field label="Importance" hint="Decides between memories that fit a message equally well.">
          {(control) => (
            <div className="flex items-center gap-3">
              <input
                {...control}
                type="range"
                min={0}
                max={100}
                step={5}
                aria-valuetext={importanceWords(importance / 100)}
                className="h-6 min-w-0 flex-1 accent-accent"
                {...form.register("importance", { valueAsNumber: true })}
              />
              <output htmlFor={control.id} className="w-28 text-right text-sm tabular-nums">
                {importanceWords(importance / 100)}
              </output>
            </div>
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={isSubmitting}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
