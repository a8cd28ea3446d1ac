/** Which agents have a tool: give it, take it, let it ask. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "@/api/client";
import { agentsQuery, agentToolsQuery } from "@/api/queries";
import { Select } from "@/components/ui/field";
import { Card } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Switch } from "@/components/ui/switch";
import { useToast } from "@/components/ui/toast";
import type { Approval } from "@/lib/tool-words";
import type { AgentToolDetails, AgentView } from "@/protocol/api";
import { usedBy } from "./tool-words";

export function ToolUsers({ tool }: { tool: AgentToolDetails }): ReactNode {
  const { data: agents, error, refetch } = useQuery(agentsQuery);
  const having = agents?.filter((agent) => agent.tools.some(({ name }) => name === tool.name)).length;
  return (
    <Card title="Agents">
      {having !== undefined && (
        <p className="-mt-2 mb-3 text-[0.8125rem] text-soft" aria-live="polite">
          {usedBy(having)}.
        </p>
      )}
      {error ? (
        <ProblemNote problem={error} onRetry={() => void refetch()} />
      ) : !agents ? (
        <SkeletonRows rows={3} className="h-9" />
      ) : agents.length === 0 ? (
        <p className="text-sm text-soft">
          No agents yet.{" "}
          <Link to="/agents/new" className="text-accent-text underline">
            Create one
          </Link>
        </p>
      ) : (
        <ul className="flex max-h-96 flex-col gap-3 overflow-y-auto">
          {agents.map((agent) => (
            <li key={agent.id}>
              <AgentLine agent={agent} tool={tool} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** What an agent says of a tool it has; null: as the tool says, undefined: it does not have it. */
type Given = Approval | null | undefined;

function AgentLine({ agent, tool }: { agent: AgentView; tool: AgentToolDetails }): ReactNode {
  const client = useQueryClient();
  const toast = useToast();
  const assigned = agent.tools.find(({ name }) => name === tool.name);
  const change = useMutation({
    mutationFn: async (given: Given) => {
      const params = { path: { agent_id: agent.id, name: tool.name } };
      if (given === undefined) await api.DELETE("/api/agents/{agent_id}/tools/{name}", { params });
      else await api.PUT("/api/agents/{agent_id}/tools/{name}", { params, body: { approval: given } });
      await Promise.all([
        client.invalidateQueries({ queryKey: agentsQuery.queryKey }),
        client.invalidateQueries({ queryKey: agentToolsQuery.queryKey }),
      ]);
    },
    onError: (thrown) => toast.failed(thrown),
  });
  const reason = agent.read_only ? "Defined in code: edit its tools there." : undefined;
  const has = assigned !== undefined;
  return (
    <div className="flex flex-wrap items-start justify-between gap-x-3 gap-y-2">
      <Switch
        label={agent.name}
        hint={reason}
        checked={change.isPending ? change.variables !== undefined : has}
        disabled={reason !== undefined || change.isPending}
        onChange={(on) => change.mutate(on ? null : undefined)}
      />
      {assigned && !reason && (
        <Select
          aria-label={`Approval for ${agent.name}`}
          className="h-8 w-auto! py-0 text-[0.8125rem]"
          value={assigned.approval ?? ""}
          disabled={change.isPending}
          onChange={({ target }) =>
            change.mutate(target.value === "ask" || target.value === "never" ? target.value : null)
          }
        >
          <option value="">Tool's default</option>
          <option value="ask">Asks first</option>
          <option value="never">Does not ask</option>
        </Select>
      )}
    </div>
  );
}
