/** Which model the agent asks, at which provider, and how free it is in its words. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Info } from "lucide-react";
import { type ReactNode, useId } from "react";
import { useController, useFormContext } from "react-hook-form";
import { agentsQuery, providersQuery } from "@/api/queries";
import { Field, Input, Select } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { Switch } from "@/components/ui/switch";
import type { AgentValues } from "./agent-values";
import { FormSection, InputField, useFieldProblem } from "./form-section";
import { groupProviders, suggestModels } from "./model-choice";

const USUAL_TEMPERATURE = "1";

export function ModelSection(): ReactNode {
  const providers = useQuery(providersQuery);
  const agents = useQuery(agentsQuery);
  const { watch, getValues, setValue } = useFormContext<AgentValues>();
  const field = useController<AgentValues, "model_provider">({ name: "model_provider" }).field;
  const problem = useFieldProblem("model_provider");
  const chosen = watch("model_provider");
  const listed = providers.data ?? [];
  const groups = groupProviders(listed, chosen);
  const suggestions = suggestModels(chosen, listed, agents.data ?? []);
  const list = useId();

  const choose = (provider: string) => {
    const before = suggestModels(getValues("model_provider"), listed, agents.data ?? []);
    field.onChange(provider);
    const model = getValues("model_name");
    if (model && !before.includes(model)) return;
    const first = suggestModels(provider, listed, agents.data ?? [])[0] ?? "";
    setValue("model_name", first, { shouldDirty: true, shouldValidate: first !== "" });
  };

  return (
    <FormSection title="Model" hint="The model that writes the answers.">
      {providers.isError && (
        <ProblemNote problem={providers.error} onRetry={() => void providers.refetch()} />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Provider" problem={problem}>
          {(control) => (
            <Select
              {...control}
              {...field}
              disabled={providers.isPending}
              onChange={(event) => choose(event.target.value)}
            >
              {groups.map((group) => (
                <optgroup key={group.label} label={group.label}>
                  {group.names.map((name) => (
                    <option key={name}>{name}</option>
                  ))}
                </optgroup>
              ))}
            </Select>
          )}
        </Field>
        <InputField
          name="model_name"
          label="Model"
          hint={
            providers.data && suggestions.length === 0
              ? "This provider has no model list. Enter the model name."
              : undefined
          }
          list={list}
          spellCheck={false}
          required
        />
        <datalist id={list}>
          {suggestions.map((model) => (
            <option key={model} value={model} />
          ))}
        </datalist>
      </div>
      {providers.data && <ProviderHint provider={chosen} names={listed.map(({ name }) => name)} />}
      <Temperature />
    </FormSection>
  );
}

function ProviderHint({ provider, names }: { provider: string; names: string[] }): ReactNode {
  const missing = !names.includes(provider);
  if (!missing && names.some((name) => name !== "demo")) return null;
  return (
    <p className="flex gap-2 rounded-xl bg-accent-soft px-3.5 py-2.5 text-[0.8125rem] text-accent-text">
      <Info className="mt-0.5 size-4 shrink-0" aria-hidden />
      <span>
        {missing
          ? `${provider} is not connected. Runs of this agent fail until it is connected. `
          : "The demo model is a script that shows what an agent can do. For real answers, "}
        <Link
          to="/settings/$section"
          params={{ section: "providers" }}
          className="font-medium underline underline-offset-2"
        >
          {missing ? "Connect it" : "connect a model provider"}
        </Link>
        .
      </span>
    </p>
  );
}

function Temperature(): ReactNode {
  const { field } = useController<AgentValues, "temperature">({ name: "temperature" });
  const problem = useFieldProblem("temperature");
  const usual = field.value === "";
  return (
    <div className="flex flex-col gap-3">
      <Switch
        label="Set the temperature"
        hint={usual ? "Off: the model's own default." : "Low values are consistent, high values are varied."}
        checked={!usual}
        onChange={(on) => field.onChange(on ? USUAL_TEMPERATURE : "")}
      />
      {!usual && (
        <Field
          label="Temperature"
          problem={problem}
          hint="From 0 to 2. Some models accept only their default."
        >
          {(control) => (
            <div className="flex items-center gap-3">
              <input
                type="range"
                aria-label="Temperature slider"
                min={0}
                max={2}
                step={0.1}
                value={Number.isFinite(Number(field.value)) ? field.value : USUAL_TEMPERATURE}
                onChange={(event) => field.onChange(event.target.value)}
                className="h-9 min-w-0 flex-1 accent-accent"
              />
              <Input
                {...control}
                {...field}
                inputMode="decimal"
                autoComplete="off"
                className="w-20! text-right tabular-nums"
              />
            </div>
          )}
        </Field>
      )}
    </div>
  );
}
