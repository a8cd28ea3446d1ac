/** What a person can do at once about a failed call of an MCP server's tool: connect, or look at what changed. */
import { Link } from "@tanstack/react-router";
import { Link2 } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/ui/button";
import { useToolServer } from "./tool-title";

const HELP: Record<string, { says: (server: string) => string; action: string }> = {
  mcp_not_connected: {
    says: (server) => `${server} needs you to sign in. Connect, then ask again.`,
    action: "Connect",
  },
  mcp_unauthorized: {
    says: (server) => `${server} refuses the credentials.`,
    action: "Open its settings",
  },
  mcp_tool_changed: {
    says: (server) => `${server} changed this tool. It is held back until someone accepts the change.`,
    action: "Review the change",
  },
};

export function ServerHelp({ tool, code }: { tool: string; code: string }): ReactNode {
  const server = useToolServer(tool);
  const help = HELP[code];
  if (!server || !help) return null;
  return (
    <div className="mx-3 mb-3 flex flex-wrap items-center justify-between gap-2.5 rounded-lg bg-warn-soft px-3 py-2.5 text-sm">
      <p className="min-w-0 wrap-anywhere">{help.says(server.name)}</p>
      <Link
        to="/settings/mcp-servers/$serverId"
        params={{ serverId: server.id }}
        className={buttonClass("plain", "small")}
      >
        <Link2 className="size-3.5" aria-hidden /> {help.action}
      </Link>
    </div>
  );
}
