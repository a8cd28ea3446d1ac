/** What the list of runs is narrowed by. */
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { agentsQuery } from "@/api/queries";
import { membersQuery } from "@/api/team-queries";
import { STATES } from "@/components/run-status";
import { Button } from "@/components/ui/button";
import { Field, Input, Select } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import type { Me } from "@/protocol/api";
import { isFiltered, type RunFilter, readFilter, STATUSES } from "./run-filter";

interface RunFiltersProps {
  me: Me;
  filter: RunFilter;
  onChange: (filter: RunFilter) => void;
}

export function RunFilters({ me, filter, onChange }: RunFiltersProps): ReactNode {
  const manages = me.permissions.includes("manage");
  const agents = useQuery(agentsQuery);
  const members = useQuery({ ...membersQuery, enabled: manages });
  const change = (part: Record<string, string>) => onChange(readFilter({ ...filter, ...part }));
  const others = members.data?.filter((member) => member.user !== me.user) ?? [];
  const knowsAgent = agents.data?.some((agent) => agent.id === filter.agent);
  const knowsUser = filter.user === "all" || others.some((member) => member.user === filter.user);
  return (
    <section aria-label="Filters" className="mb-4 flex flex-col gap-3">
      <div className="grid grid-cols-2 items-end gap-3 sm:flex sm:flex-wrap">
        <Field label="Agent" className="min-w-0 sm:w-48">
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
        <Field label="Status" className="min-w-0 sm:w-44">
          {(control) => (
            <Select
              {...control}
              value={filter.status ?? ""}
              onChange={(event) => change({ status: event.target.value })}
            >
              <option value="">Any status</option>
              {STATUSES.map((status) => (
                <option key={status} value={status}>
                  {STATES[status].word}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {manages && (
          <Field label="Person" className="min-w-0 sm:w-44">
            {(control) => (
              <Select
                {...control}
                value={filter.user ?? ""}
                onChange={(event) => change({ user: event.target.value })}
              >
                <option value="">Only mine</option>
                <option value="all">Everyone</option>
                {filter.user && !knowsUser && <option value={filter.user}>{filter.user}</option>}
                {others.map((member) => (
                  <option key={member.user} value={member.user}>
                    {member.name || member.email || member.user}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <Field label="Time" className="min-w-0 sm:w-40">
          {(control) => (
            <Select
              {...control}
              value={filter.period ?? ""}
              onChange={(event) => change({ period: event.target.value })}
            >
              <option value="">All time</option>
              <option value="hour">Last hour</option>
              <option value="today">Today</option>
              <option value="week">Last 7 days</option>
              <option value="between">From – to</option>
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
      {(agents.isError || members.isError) && (
        <ProblemNote
          problem={agents.error ?? members.error}
          onRetry={() => void (agents.isError ? agents.refetch() : members.refetch())}
        />
      )}
      {filter.period === "between" && (
        <div className="grid gap-3 sm:flex">
          <Moment label="From" value={filter.from} onChange={(from) => change({ from })} />
          <Moment
            label="To"
            value={filter.to}
            onChange={(to) => change({ to })}
            {...(filter.from && filter.to && filter.to <= filter.from
              ? { problem: "The end is before the start." }
              : {})}
          />
        </div>
      )}
    </section>
  );
}

interface MomentProps {
  label: string;
  value: string | undefined;
  onChange: (value: string) => void;
  problem?: string;
}

function Moment({ label, value, onChange, problem }: MomentProps): ReactNode {
  return (
    <Field label={label} problem={problem} className="min-w-0 sm:w-60">
      {(control) => (
        <Input
          {...control}
          type="datetime-local"
          value={value ?? ""}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
