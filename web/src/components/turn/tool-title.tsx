/** The name of a tool that was called; of an MCP server's tool, where it is known, with the server. */
import { createContext, type ReactNode, useContext } from "react";
import type { ToolServer } from "@/protocol/api";

/** The MCP servers' tools by their names towards models. */
export const ToolServers = createContext<ReadonlyMap<string, ToolServer>>(new Map());

export const useToolServer = (name: string): ToolServer | undefined => useContext(ToolServers).get(name);

export function ToolTitle({ name }: { name: string }): ReactNode {
  const server = useToolServer(name);
  return server ? (
    <span title={name}>
      <span className="font-mono text-[0.8125rem]">{server.tool}</span>{" "}
      <span className="font-normal text-soft">· {server.name}</span>
    </span>
  ) : (
    <span className="font-mono text-[0.8125rem]">{name}</span>
  );
}
