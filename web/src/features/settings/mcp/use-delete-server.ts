/** Deletes an MCP server after saying what goes with it. */
import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import { agentsQuery } from "@/api/queries";
import { useConfirm } from "@/components/ui/confirm";
import { useToast } from "@/components/ui/toast";
import type { McpServerView } from "@/protocol/api";
import { refreshMcpServer } from "./mcp-queries";
import { countOf } from "./mcp-words";

/** `gone` leaves the page of what is no longer there. */
export function useDeleteServer(): (server: McpServerView, gone?: () => Promise<void>) => Promise<void> {
  const confirm = useConfirm();
  const toast = useToast();
  const client = useQueryClient();
  return async (server, gone) => {
    const lost = server.tools_on + server.tools_changed;
    const sure = await confirm({
      title: `Delete ${server.name}?`,
      message: `${lost > 0 ? `Agents lose its ${countOf(lost)} at once. ` : ""}Its credentials are deleted too. You cannot undo this.`,
      action: "Delete",
      danger: true,
    });
    if (!sure) return;
    try {
      const params = { path: { server_id: server.id } };
      await api.DELETE("/api/mcp-servers/{server_id}", { params });
      await gone?.();
      toast.done(`MCP server "${server.name}" deleted`);
    } catch (thrown) {
      toast.failed(thrown);
    }
    await Promise.all([refreshMcpServer(client, server.id), client.invalidateQueries(agentsQuery)]);
  };
}
