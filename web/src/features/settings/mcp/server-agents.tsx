/** Which agents have tools of a server, and all of them at once. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "@/api/client";
import { agentQuery, agentsQuery } from "@/api/queries";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import type { AgentView, McpServerDetails } from "@/protocol/api";
import { refreshMcpServer } from "./mcp-queries";
import { countOf } from "./mcp-words";

interface ServerAgentsProps {
  server: McpServerDetails;
}

export function ServerAgents({ server }: ServerAgentsProps): ReactNode {
  const { data: agents, error, refetch } = useQuery(agentsQuery);
  const editable = agents?.filter((agent) => !agent.read_only) ?? [];
  return (
    <Card>
      {error ? (
        <ProblemNote problem={error} onRetry={() => void refetch()} />
      ) : !agents ? (
        <SkeletonRows rows={3} className="h-9" />
      ) : editable.length === 0 ? (
        <p className="text-sm text-soft">
          No agents that can be edited here.{" "}
          <Link to="/agents/new" className="text-accent-text underline">
            Create one
          </Link>
        </p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {editable.map((agent) => (
            <AgentLine key={agent.id} agent={agent} server={server} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function AgentLine({ agent, server }: { agent: AgentView; server: McpServerDetails }): ReactNode {
  const client = useQueryClient();
  const toast = useToast();
  const change = useMutation({
    mutationFn: async (given: boolean) => {
      const params = { path: { agent_id: agent.id, server_id: server.id } };
      if (given) await api.PUT("/api/agents/{agent_id}/mcp-servers/{server_id}", { params });
      else await api.DELETE("/api/agents/{agent_id}/mcp-servers/{server_id}", { params });
      await Promise.all([
        client.invalidateQueries(agentsQuery),
        client.invalidateQueries(agentQuery(agent.id)),
        refreshMcpServer(client, server.id),
      ]);
    },
    onError: (thrown) => toast.failed(thrown),
  });
  const names = new Set(agent.tools.map(({ name }) => name));
  const having = server.tools.filter(({ tool }) => tool !== null && names.has(tool)).length;
  const on = server.tools.filter(({ tool, state }) => tool !== null && state === "on");
  const missing = on.filter(({ tool }) => tool !== null && !names.has(tool)).length;
  return (
    <li className="flex flex-wrap items-center justify-between gap-2 py-2.5 first:pt-0 last:pb-0">
      <div className="min-w-0 flex-1 basis-32">
        <Link
          to="/agents/$agentId"
          params={{ agentId: agent.id }}
          className="text-sm font-medium wrap-anywhere hover:underline"
        >
          {agent.name}
        </Link>
        <p className="text-[0.8125rem] text-soft">
          {having === 0 ? "Has none of its tools" : `Has ${countOf(having)}`}
        </p>
      </div>
      <div className="flex gap-1.5">
        {missing > 0 && (
          <Button
            size="small"
            busy={change.isPending}
            aria-label={`Add all tools that are on to ${agent.name}`}
            onClick={() => change.mutate(true)}
          >
            Add all
          </Button>
        )}
        {having > 0 && (
          <Button
            size="small"
            busy={change.isPending}
            aria-label={`Remove the tools from ${agent.name}`}
            onClick={() => change.mutate(false)}
          >
            Remove
          </Button>
        )}
      </div>
    </li>
  );
}
