/** What the list of memories is narrowed by. */
import { useQuery } from "@tanstack/react-query";
import { Search, X } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import type { MemoryFilter } from "@/api/memory-queries";
import { agentsQuery } from "@/api/queries";
import { SCOPE_NAMES, SCOPES, TYPE_NAMES, TYPES } from "@/components/memory/memory-words";
import { Button } from "@/components/ui/button";
import { Field, Input, Select } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { useSettled } from "@/lib/use-settled";
import { isFiltered, readSearch } from "./memory-filter";

interface MemoryFiltersProps {
  filter: MemoryFilter;
  onChange: (filter: MemoryFilter) => void;
}

export function MemoryFilters({ filter, onChange }: MemoryFiltersProps): ReactNode {
  const agents = useQuery(agentsQuery);
  const change = (part: Record<string, string>) => onChange(readSearch({ ...filter, ...part }));
  const knowsAgent = agents.data?.some((agent) => agent.id === filter.agent);
  return (
    <section aria-label="Filters" className="mb-4 flex flex-col gap-3">
      <div className="grid grid-cols-2 items-end gap-3 sm:flex sm:flex-wrap">
        <SearchField q={filter.q ?? ""} onChange={(q) => change({ q })} />
        <Field label="Agent" className="min-w-0 sm:w-44">
          {(control) => (
            <Select
              {...control}
              value={filter.agent ?? ""}
              onChange={(event) => change({ agent: event.target.value })}
            >
              <option value="">All agents</option>
              {filter.agent && !knowsAgent && <option value={filter.agent}>{filter.agent}</option>}
              {agents.data?.map((agent) => (
                <option key={agent.id} value={agent.id}>
                  {agent.name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Person" className="min-w-0 sm:w-52">
          {(control) => (
            <Select
              {...control}
              value={filter.scope ?? ""}
              onChange={(event) => change({ scope: event.target.value })}
            >
              <option value="">You and your team</option>
              {SCOPE_NAMES.map((name) => (
                <option key={name} value={name} disabled={name === "agent" && !filter.agent}>
                  {SCOPES[name].word}
                  {name === "agent" && !filter.agent && " (choose an agent)"}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Type" className="min-w-0 sm:w-36">
          {(control) => (
            <Select
              {...control}
              value={filter.type ?? ""}
              onChange={(event) => change({ type: event.target.value })}
            >
              <option value="">All types</option>
              {TYPE_NAMES.map((name) => (
                <option key={name} value={name}>
                  {TYPES[name].word}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {isFiltered(filter) && (
          <Button look="quiet" className="justify-self-start" onClick={() => onChange({})}>
            <X className="size-4" aria-hidden />
            Clear filters
          </Button>
        )}
      </div>
      {agents.isError && <ProblemNote problem={agents.error} onRetry={() => void agents.refetch()} />}
    </section>
  );
}

/** Searches once the user pauses. */
function SearchField({ q, onChange }: { q: string; onChange: (q: string) => void }): ReactNode {
  const [text, setText] = useState(q);
  const settled = useSettled(text);
  // Only what is typed goes to the address: what comes from there is here already.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text settles, not the filter
  useEffect(() => {
    if (settled === text && settled.trim() !== q) onChange(settled);
  }, [settled]);
  // Cleared filters clear the field.
  useEffect(() => {
    if (!q) setText("");
  }, [q]);
  return (
    <Field label="Search memories" className="col-span-2 min-w-0 sm:w-64">
      {(control) => (
        <div className="relative">
          <Search className="pointer-events-none absolute top-2.5 left-3 size-4 text-soft" aria-hidden />
          <Input
            {...control}
            type="search"
            maxLength={200}
            placeholder="Where I live"
            value={text}
            onChange={(event) => setText(event.target.value)}
            className="pl-9!"
          />
        </div>
      )}
    </Field>
  );
}
