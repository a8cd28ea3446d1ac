/** The form of an agent, new or known: checks while one types, saves, and lets nothing be lost by leaving. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { type FieldErrors, FormProvider, type Resolver, set, useForm } from "react-hook-form";
import { api, data } from "@/api/client";
import { ifMatch, isOvertaken } from "@/api/if-match";
import { problemOf } from "@/api/problem";
import { agentQuery, agentsQuery } from "@/api/queries";
import { OvertakenNote } from "@/components/overtaken-note";
import { Button } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import { useUnsavedGuard } from "@/components/unsaved-guard";
import { COMMAND_KEY, useShortcut } from "@/lib/shortcuts";
import type { AgentView } from "@/protocol/api";
import {
  type AgentValues,
  bodyOf,
  checkValues,
  type FieldName,
  refusedFields,
  valuesOf,
} from "./agent-values";
import { ApprovalSection } from "./approval-section";
import { BasicsSection, InstructionsSection } from "./basics-section";
import { HandoffsSection } from "./handoffs-section";
import { LimitsSection, OutputSection } from "./limits-section";
import { MemorySection } from "./memory-section";
import { ModelSection } from "./model-section";
import { ToolsSection } from "./tools-section";

interface AgentEditorProps {
  /** Left out for a new agent. */
  agentId?: string;
  initial: AgentValues;
  /** When `initial` was saved, by which another version is known. */
  version?: number | null;
  /** Going elsewhere from here must ignore the guard: the form does not know yet that it is clean. */
  onSaved: (agent: AgentView) => void;
  onDirty?: (dirty: boolean) => void;
}

const resolver: Resolver<AgentValues> = (values) => {
  const found = Object.entries(checkValues(values));
  if (found.length === 0) return { values, errors: {} };
  const errors: FieldErrors<AgentValues> = {};
  for (const [name, message] of found) set(errors, name, { type: "value", message });
  return { values: {}, errors };
};

export function AgentEditor(props: AgentEditorProps): ReactNode {
  const { agentId, initial, version = null, onSaved, onDirty } = props;
  const form = useForm<AgentValues>({ defaultValues: initial, mode: "onTouched", resolver });
  const { isDirty, errors } = form.formState;
  useUnsavedGuard(isDirty);
  const save = useSave(agentId);
  const [seen, setSeen] = useState(version);
  const overtaken = isDirty && !save.isPending && seen !== version;
  useEffect(() => onDirty?.(isDirty), [onDirty, isDirty]);
  useEffect(() => {
    if (form.formState.isDirty) return;
    form.reset(initial);
    setSeen(version);
  }, [form, initial, version]);

  const submit = form.handleSubmit(async (values) => {
    try {
      const agent = await save.mutateAsync({ values, version: overtaken ? version : seen });
      if (agent === null) return;
      form.reset(valuesOf(agent));
      setSeen(agent.updated_at);
      onSaved(agent);
    } catch (thrown) {
      const refused = Object.entries(refusedFields(problemOf(thrown), values)) as [FieldName, string][];
      refused.forEach(([name, message], index) => {
        form.setError(name, { type: "server", message }, { shouldFocus: index === 0 });
      });
    }
  });
  const ready = !save.isPending && (agentId === undefined || isDirty);
  useShortcut({ key: "s", command: true }, () => {
    if (ready) void submit();
  });

  const wrong = Object.keys(errors).length;
  const elsewhere =
    save.isError && Object.keys(refusedFields(problemOf(save.error), save.variables.values)).length === 0;
  return (
    <FormProvider {...form}>
      <form onSubmit={(event) => void submit(event)} noValidate className="flex min-w-0 flex-col gap-4">
        <BasicsSection />
        <InstructionsSection />
        <ModelSection />
        <ToolsSection agentId={agentId} />
        <HandoffsSection agentId={agentId} />
        <ApprovalSection />
        <MemorySection />
        <LimitsSection />
        <OutputSection />
        <div className="sticky bottom-3 z-20 flex flex-col gap-2 rounded-2xl border border-strong-line/50 bg-raised p-3 shadow-lg">
          {overtaken && <OvertakenNote what="agent" />}
          {elsewhere && <ProblemNote problem={save.error} />}
          <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
            <p className="min-w-0 flex-1 px-1 text-[0.8125rem] text-soft" aria-live="polite">
              {wrong > 0 ? (
                <span className="text-bad">
                  {wrong === 1 ? "One field needs" : `${wrong} fields need`} attention
                </span>
              ) : (
                stateWords(isDirty, agentId)
              )}
            </p>
            {isDirty && (
              <Button
                onClick={() => {
                  form.reset(initial);
                  setSeen(version);
                  save.reset();
                }}
              >
                Discard
              </Button>
            )}
            <Button
              type="submit"
              look="primary"
              busy={save.isPending}
              disabled={!ready}
              title={`${COMMAND_KEY}+S`}
            >
              {agentId === undefined ? "Create agent" : "Save"}
            </Button>
          </div>
        </div>
      </form>
    </FormProvider>
  );
}

function stateWords(dirty: boolean, agentId: string | undefined): string {
  if (dirty) return "Unsaved changes";
  return agentId === undefined ? "Not created yet" : "All changes saved";
}

interface Saving {
  values: AgentValues;
  /** The one that is replaced. */
  version: number | null;
}

/** Saves; returns null if another user saved first, whose version the page then shows. */
function useSave(agentId: string | undefined) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async ({ values, version }: Saving) => {
      const body = bodyOf(values);
      if (agentId === undefined) return data(api.POST("/api/agents", { body }));
      const params = { path: { agent_id: agentId } };
      try {
        const header = ifMatch(version);
        return await data(api.PUT("/api/agents/{agent_id}", { params: { ...params, header }, body }));
      } catch (thrown) {
        if (!isOvertaken(thrown)) throw thrown;
        const theirs = await data(api.GET("/api/agents/{agent_id}", { params }));
        queryClient.setQueryData(agentQuery(agentId).queryKey, theirs);
        return null;
      }
    },
    onSuccess: (agent) => {
      if (agent === null) return;
      queryClient.setQueryData(agentQuery(agent.id).queryKey, agent);
      void queryClient.invalidateQueries({ ...agentsQuery, exact: true });
      void queryClient.invalidateQueries({ queryKey: ["agent-tools"] });
    },
  });
}
