/** Deletes an HTTP tool after saying which agents lose it. */
import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import { agentsQuery, agentToolsQuery, toolsQuery } from "@/api/queries";
import { useConfirm } from "@/components/ui/confirm";
import { useToast } from "@/components/ui/toast";
import type { AgentToolDetails } from "@/protocol/api";
import { listed } from "./tool-words";

/** `gone` leaves the page of what is no longer there. */
export function useDeleteTool(): (tool: AgentToolDetails, gone: () => Promise<void>) => Promise<void> {
  const confirm = useConfirm();
  const toast = useToast();
  const client = useQueryClient();
  return async (tool, gone) => {
    try {
      const agents = await client.fetchQuery({ ...agentsQuery, staleTime: 0 });
      const users = agents.filter((agent) => agent.tools.some(({ name }) => name === tool.name));
      const loses = users.length === 1 ? "loses" : "lose";
      const sure = await confirm({
        title: `Delete ${tool.name}?`,
        message:
          users.length > 0
            ? `${listed(users.map(({ name }) => name))} ${loses} it at once. Its secret headers are deleted too. You cannot undo this.`
            : "No agent uses it. Its secret headers are deleted too. You cannot undo this.",
        action: "Delete",
        danger: true,
      });
      if (!sure) return;
      await api.DELETE("/api/agent-tools/{tool_id}", { params: { path: { tool_id: tool.id } } });
      await gone();
      await Promise.all(
        [agentsQuery, agentToolsQuery, toolsQuery].map(({ queryKey }) =>
          client.invalidateQueries({ queryKey }),
        ),
      );
      toast.done(`Tool "${tool.name}" deleted`);
    } catch (thrown) {
      toast.failed(thrown);
    }
  };
}
