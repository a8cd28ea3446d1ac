/** Which MCP servers the tools of a chat are of, read once a tool is called that may be one's. */
import { useQuery } from "@tanstack/react-query";
import { agentToolsQuery } from "@/api/queries";
import type { AgentToolDetails, ToolServer } from "@/protocol/api";
import type { Part, Turn } from "@/state/thread";

const FRESH_MS = 60_000;

export function useToolServers(turns: readonly Turn[]): ReadonlyMap<string, ToolServer> {
  const called = turns.some(({ parts }) => parts.some(mayBeOfServer));
  const { data } = useQuery({ ...agentToolsQuery, enabled: called, staleTime: FRESH_MS, select: byName });
  return data ?? NONE;
}

const NONE: ReadonlyMap<string, ToolServer> = new Map();

/** A server's tool is named {server}_{tool}. */
function mayBeOfServer(part: Part): boolean {
  if (part.kind === "subagent") return part.parts.some(mayBeOfServer);
  return part.kind === "call" && part.name.includes("_");
}

function byName(tools: AgentToolDetails[]): ReadonlyMap<string, ToolServer> {
  return new Map(tools.flatMap(({ name, server }) => (server ? [[name, server] as const] : [])));
}
