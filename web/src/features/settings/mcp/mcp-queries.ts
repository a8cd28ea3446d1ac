/** What the pages of MCP servers read from the server. */
import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { api, data } from "@/api/client";
import { agentToolsQuery } from "@/api/queries";

const CHECKED_MS = 60_000;

export const mcpServersQuery = queryOptions({
  queryKey: ["mcp-servers"],
  queryFn: async () => (await data(api.GET("/api/mcp-servers"))).items,
});

export const mcpServerQuery = (serverId: string) =>
  queryOptions({
    queryKey: ["mcp-server", serverId],
    queryFn: () =>
      data(api.GET("/api/mcp-servers/{server_id}", { params: { path: { server_id: serverId } } })),
  });

/** Whether a server can be reached. A check records what its tools are now, so what shows them is read again. */
export const mcpCheckQuery = (serverId: string) =>
  queryOptions({
    queryKey: ["mcp-check", serverId],
    staleTime: CHECKED_MS,
    queryFn: async ({ client }) => {
      const params = { path: { server_id: serverId } };
      const found = await data(api.POST("/api/mcp-servers/{server_id}/check", { params }));
      await refreshMcpServer(client, serverId);
      return found;
    },
  });

/** Reads again what shows a server or its tools. */
export async function refreshMcpServer(client: QueryClient, serverId: string): Promise<void> {
  await Promise.all(
    [mcpServersQuery.queryKey, mcpServerQuery(serverId).queryKey, agentToolsQuery.queryKey].map((queryKey) =>
      client.invalidateQueries({ queryKey }),
    ),
  );
}
