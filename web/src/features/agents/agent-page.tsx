/** One agent: its form beside a chat to try it, or all about it for those who may not change it. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeft, Bot } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { problemOf } from "@/api/problem";
import { agentQuery, agentsQuery, meQuery, providersQuery } from "@/api/queries";
import { buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import type { AgentView, ProviderView } from "@/protocol/api";
import { AgentActions } from "./agent-actions";
import { AgentBadges } from "./agent-badges";
import { AgentDetails } from "./agent-details";
import { AgentEditor } from "./agent-editor";
import { type AgentValues, copyOf, NEW_AGENT } from "./agent-values";
import { AgentWorkshop } from "./agent-workshop";

export function NewAgentPage(): ReactNode {
  const { copy, provider } = useSearch({ from: "/inside/building/agents/new" });
  return (
    <Page title={copy ? "Duplicate agent" : "New agent"} above={<BackToAgents />}>
      {copy ? <CopyEditor agentId={copy} /> : <CreateAgent provider={provider} />}
    </Page>
  );
}

export function AgentPage(): ReactNode {
  const { agentId } = useParams({ from: "/inside/agents/$agentId" });
  const agent = useQuery(agentQuery(agentId));
  const me = useQuery(meQuery);
  if (agent.isError && problemOf(agent.error).code === "agent_not_found") return <NoAgent />;
  if (agent.data && me.data) {
    const mayBuild = me.data.permissions.includes("build");
    return (
      <Page
        key={agentId}
        title={agent.data.name}
        wide
        above={<BackToAgents />}
        actions={<AgentActions agent={agent.data} mayBuild={mayBuild} />}
      >
        <div className="-mt-3 mb-6 flex flex-wrap gap-1.5">
          <AgentBadges agent={agent.data} />
        </div>
        {mayBuild && !agent.data.read_only ? (
          <AgentWorkshop agent={agent.data} />
        ) : (
          <AgentDetails agent={agent.data} mayBuild={mayBuild} />
        )}
      </Page>
    );
  }
  return (
    <Page title="Agent" wide above={<BackToAgents />}>
      {agent.isError ? (
        <ProblemNote problem={agent.error} onRetry={() => void agent.refetch()} />
      ) : (
        <SkeletonRows rows={4} className="h-40 rounded-2xl!" />
      )}
    </Page>
  );
}

function CreateAgent({ from, provider }: { from?: AgentView; provider?: string | undefined }): ReactNode {
  const agents = useQuery(agentsQuery);
  const providers = useQuery({ ...providersQuery, enabled: !from });
  const navigate = useNavigate();
  const toast = useToast();
  const taken = agents.data;
  const initial = useMemo(
    () =>
      from && taken
        ? copyOf(
            from,
            taken.map(({ name }) => name),
          )
        : withProvider(provider, providers.data),
    [from, taken, provider, providers.data],
  );
  if (agents.isError) return <ProblemNote problem={agents.error} onRetry={() => void agents.refetch()} />;
  if ((from && !taken) || (!from && providers.isPending))
    return <SkeletonRows rows={4} className="h-40 rounded-2xl!" />;
  return (
    <AgentEditor
      initial={initial}
      onSaved={(agent) => {
        toast.done(`${agent.name} was created. Try it here, or chat with it.`);
        void navigate({ to: "/agents/$agentId", params: { agentId: agent.id }, ignoreBlocker: true });
      }}
    />
  );
}

function CopyEditor({ agentId }: { agentId: string }): ReactNode {
  const agent = useQuery(agentQuery(agentId));
  if (agent.data) return <CreateAgent from={agent.data} />;
  if (!agent.isError) return <SkeletonRows rows={4} className="h-40 rounded-2xl!" />;
  return (
    <div className="flex flex-col items-start gap-4">
      <ProblemNote problem={agent.error} onRetry={() => void agent.refetch()} />
      <Link to="/agents/new" className={buttonClass()}>
        Start with an empty form
      </Link>
    </div>
  );
}

function NoAgent(): ReactNode {
  return (
    <Page title="Agent" above={<BackToAgents />}>
      <Empty icon={Bot} title="Agent not found" action={<AllAgentsLink />}>
        It was deleted, or belongs to another team. You can still read chats with a deleted agent.
      </Empty>
    </Page>
  );
}

function AllAgentsLink(): ReactNode {
  return (
    <Link to="/agents" className={buttonClass("primary")}>
      See all agents
    </Link>
  );
}

function BackToAgents(): ReactNode {
  return (
    <Link
      to="/agents"
      className="mb-3 -ml-1 inline-flex items-center gap-1 rounded-md px-1 text-[0.8125rem] text-soft hover:text-ink"
    >
      <ArrowLeft className="size-3.5" aria-hidden />
      Agents
    </Link>
  );
}

/** A new agent with the model one has just connected, else with one that the team has; without any, the demo's. */
function withProvider(name: string | undefined, known: readonly ProviderView[] = []): AgentValues {
  const provider =
    known.find((listed) => listed.name === name) ?? known.find(({ models }) => models.length > 0);
  return provider
    ? { ...NEW_AGENT, model_provider: provider.name, model_name: provider.models[0] ?? "" }
    : NEW_AGENT;
}
