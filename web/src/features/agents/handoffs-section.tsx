/** Which other agents the agent may hand over to or ask, with a picture of the team that this makes. */
import { useQuery } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { type ReactNode, useId, useRef } from "react";
import { useFieldArray, useFormContext, useWatch } from "react-hook-form";
import { agentsQuery } from "@/api/queries";
import { Button, IconButton } from "@/components/ui/button";
import { Field, Select } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { FILTERS, MODES } from "@/lib/handoff-words";
import type { AgentView, HandoffBody } from "@/protocol/api";
import { type AgentValues, MAX_HANDOFFS, NEW_HANDOFF } from "./agent-values";
import { FormSection, InputField, TextareaField, useFieldProblem } from "./form-section";
import { TeamPicture } from "./team-picture";
import { teamOf } from "./team-tree";

export function HandoffsSection({ agentId }: { agentId: string | undefined }): ReactNode {
  const { data: agents = [], isPending, isError, error, refetch } = useQuery(agentsQuery);
  const { setFocus } = useFormContext<AgentValues>();
  const { fields, append, remove } = useFieldArray<AgentValues, "handoffs">({ name: "handoffs" });
  const handoffs = useWatch<AgentValues, "handoffs">({ name: "handoffs" });
  const name = useWatch<AgentValues, "name">({ name: "name" });
  const adding = useRef<HTMLButtonElement>(null);
  const others = agents.filter(({ id }) => id !== agentId);
  const problem = useFieldProblem("handoffs");
  const drop = (at: number) => {
    remove(at);
    adding.current?.focus();
  };
  const none = !isPending && !isError && others.length === 0;
  return (
    <FormSection
      title="Other agents"
      hint="Agents that this one can hand the conversation over to, or ask like a tool. Its model decides when."
    >
      {isError && <ProblemNote problem={error} onRetry={() => void refetch()} />}
      {fields.map(({ id }, at) => (
        <HandoffFields
          key={id}
          at={at}
          handoff={handoffs[at] ?? NEW_HANDOFF}
          others={others}
          loading={isPending}
          onRemove={() => drop(at)}
        />
      ))}
      {problem && (
        <p role="alert" className="text-[0.8125rem] text-bad">
          {problem}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-3">
        <Button
          ref={adding}
          disabled={fields.length >= MAX_HANDOFFS || none}
          onClick={() => append(NEW_HANDOFF, { focusName: `handoffs.${fields.length}.agent` })}
        >
          <Plus className="size-4" aria-hidden />
          Add agent
        </Button>
        {none && <p className="text-[0.8125rem] text-soft">Your team has no other agents yet.</p>}
        {fields.length >= MAX_HANDOFFS && (
          <p className="text-[0.8125rem] text-soft">At most {MAX_HANDOFFS} agents.</p>
        )}
      </div>
      {handoffs.length > 0 && !isPending && (
        <TeamPicture
          name={name}
          nodes={teamOf({ id: agentId, name, handoffs }, agents)}
          onPick={(at) => setFocus(`handoffs.${at}.agent`)}
        />
      )}
    </FormSection>
  );
}

interface HandoffFieldsProps {
  at: number;
  handoff: HandoffBody;
  others: readonly AgentView[];
  loading: boolean;
  onRemove: () => void;
}

function HandoffFields({ at, handoff, others, loading, onRemove }: HandoffFieldsProps): ReactNode {
  const { register } = useFormContext<AgentValues>();
  const problem = useFieldProblem(`handoffs.${at}.agent`);
  const id = useId();
  const chosen = others.find((other) => other.id === handoff.agent || other.name === handoff.agent);
  const name = chosen?.name ?? (handoff.agent && !loading ? "A deleted agent" : "");
  const hands = handoff.mode === "handoff";
  return (
    <fieldset
      aria-labelledby={id}
      className="grid gap-x-4 gap-y-3 rounded-xl border border-line p-4 sm:grid-cols-2"
    >
      <div className="flex items-center justify-between gap-2 sm:col-span-2">
        <h3 id={id} className="min-w-0 text-sm font-semibold wrap-anywhere">
          {name || "Another agent"}
        </h3>
        <IconButton label={`Remove ${name || "this agent"}`} onClick={onRemove}>
          <Trash2 className="size-4" aria-hidden />
        </IconButton>
      </div>
      <Field label="Agent" problem={problem}>
        {(control) => (
          <Select {...control} {...register(`handoffs.${at}.agent`)}>
            <option value="" disabled>
              Choose an agent
            </option>
            {handoff.agent && handoff.agent !== chosen?.id && (
              <option value={handoff.agent}>{chosen ? chosen.name : loading ? "Loading…" : name}</option>
            )}
            {others
              .filter((other) => other !== chosen || other.id === handoff.agent)
              .map((other) => (
                <option key={other.id} value={other.id}>
                  {other.name}
                  {other.status === "inactive" ? " (inactive)" : ""}
                </option>
              ))}
          </Select>
        )}
      </Field>
      <Field
        label="How"
        hint={
          hands
            ? "It continues the conversation, now and in later messages."
            : "It does a task on its own and answers this agent."
        }
      >
        {(control) => (
          <Select {...control} {...register(`handoffs.${at}.mode`)}>
            {entries(MODES).map(([mode, { title }]) => (
              <option key={mode} value={mode}>
                {title}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <TextareaField
        name={`handoffs.${at}.description`}
        label="When to use it"
        placeholder={hands ? "For refunds and invoices." : "Looks up orders."}
        optional
        rows={2}
        className="min-h-16!"
      />
      <div className="flex flex-col gap-3">
        {hands && (
          <Field label="What it sees">
            {(control) => (
              <Select {...control} {...register(`handoffs.${at}.filter`)}>
                {entries(FILTERS).map(([filter, words]) => (
                  <option key={filter} value={filter}>
                    {words.charAt(0).toUpperCase() + words.slice(1)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <InputField
          name={`handoffs.${at}.tool`}
          label="Tool name"
          placeholder={toolName(handoff.mode, name && chosen ? name : "agent")}
          spellCheck={false}
          className="font-mono"
          optional
        />
      </div>
    </fieldset>
  );
}

/** The name that the server gives the tool if none is chosen. */
function toolName(mode: HandoffBody["mode"], agent: string): string {
  const word = agent.replace(/[^a-zA-Z0-9_-]+/g, "_").replace(/^_+|_+$/g, "") || "agent";
  return `${mode === "handoff" ? "transfer_to_" : "ask_"}${word}`.slice(0, 64);
}

function entries<Key extends string, Value>(of: Record<Key, Value>): [Key, Value][] {
  return Object.entries(of) as [Key, Value][];
}
