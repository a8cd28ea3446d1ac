/** All agents of the team: find one, talk to it, change it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Bot, Plus, Search, SearchX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { agentsQuery, meQuery } from "@/api/queries";
import { Button, buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Input, Select } from "@/components/ui/field";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { Skeleton } from "@/components/ui/skeleton";
import type { AgentView } from "@/protocol/api";
import { AgentCard } from "./agent-card";
import { type AgentFilter, ALL_AGENTS, filterAgents } from "./agent-filter";
import { useDeleteAgent } from "./use-delete-agent";

const GRID = "grid grid-cols-1 gap-4 sm:grid-cols-2 xl:grid-cols-3";

export function AgentsPage(): ReactNode {
  const agents = useQuery(agentsQuery);
  const me = useQuery(meQuery);
  const mayBuild = me.data?.permissions.includes("build") ?? false;
  return (
    <Page
      title="Agents"
      description="An agent is a model with instructions and tools. Everyone in the team can chat with them."
      wide
      actions={mayBuild && <NewAgentLink />}
    >
      {agents.isPending && (
        <div role="status" aria-label="Loading" className={GRID}>
          {[...Array(6).keys()].map((card) => (
            <Skeleton key={card} className="h-56 rounded-2xl!" />
          ))}
        </div>
      )}
      {agents.isError && <ProblemNote problem={agents.error} onRetry={() => void agents.refetch()} />}
      {agents.data?.length === 0 && (
        <Empty icon={Bot} title="No agents yet" action={mayBuild && <NewAgentLink />}>
          {mayBuild
            ? "Create the first one: it needs a name, instructions and a model."
            : "Ask an owner or admin to create one."}
        </Empty>
      )}
      {agents.data && agents.data.length > 0 && <AgentList agents={agents.data} mayBuild={mayBuild} />}
    </Page>
  );
}

function NewAgentLink(): ReactNode {
  return (
    <Link to="/agents/new" className={buttonClass("primary")}>
      <Plus className="size-4" aria-hidden />
      New agent
    </Link>
  );
}

function AgentList({ agents, mayBuild }: { agents: AgentView[]; mayBuild: boolean }): ReactNode {
  const [filter, setFilter] = useState(ALL_AGENTS);
  const deleteAgent = useDeleteAgent();
  const change = (changes: Partial<AgentFilter>) => setFilter((before) => ({ ...before, ...changes }));
  const providers = [...new Set(agents.map((agent) => agent.model_provider))].sort();
  const found = filterAgents(agents, filter);
  return (
    <div className="relative">
      <search className="mb-4 flex flex-wrap items-center gap-2">
        <div className="relative min-w-48 flex-1 sm:max-w-sm">
          <Search
            className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-soft"
            aria-hidden
          />
          <Input
            type="search"
            className="pl-9"
            aria-label="Search agents"
            placeholder="Search name, description, model"
            value={filter.words}
            onChange={(event) => change({ words: event.target.value })}
          />
        </div>
        <Select
          aria-label="Status"
          className="w-auto!"
          value={filter.status}
          onChange={(event) => change({ status: event.target.value })}
        >
          <option value="">Any status</option>
          <option value="active">Active</option>
          <option value="inactive">Inactive</option>
        </Select>
        {providers.length > 1 && (
          <Select
            aria-label="Provider"
            className="w-auto! max-w-44"
            value={filter.provider}
            onChange={(event) => change({ provider: event.target.value })}
          >
            <option value="">Any provider</option>
            {providers.map((provider) => (
              <option key={provider}>{provider}</option>
            ))}
          </Select>
        )}
      </search>
      <p className="sr-only" aria-live="polite">
        {found.length} of {agents.length} agents
      </p>
      {found.length === 0 ? (
        <Empty
          icon={SearchX}
          title="No results"
          action={<Button onClick={() => setFilter(ALL_AGENTS)}>Show all agents</Button>}
        >
          No agent matches your search.
        </Empty>
      ) : (
        <ul className={GRID}>
          {found.map((agent) => (
            <AgentCard
              key={agent.id}
              agent={agent}
              mayBuild={mayBuild}
              onDelete={(doomed) => void deleteAgent(doomed)}
            />
          ))}
        </ul>
      )}
    </div>
  );
}
