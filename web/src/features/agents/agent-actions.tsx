/** What can be done with the agent of this page, besides changing it. */
import { Link, useNavigate } from "@tanstack/react-router";
import { Copy, MessageSquare, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClass, IconButton } from "@/components/ui/button";
import type { AgentView } from "@/protocol/api";
import { useDeleteAgent } from "./use-delete-agent";
import { UseFromCode } from "./use-from-code";

export function AgentActions({ agent, mayBuild }: { agent: AgentView; mayBuild: boolean }): ReactNode {
  const deleteAgent = useDeleteAgent();
  const navigate = useNavigate();
  const drop = async () => {
    if (await deleteAgent(agent)) await navigate({ to: "/agents", ignoreBlocker: true });
  };
  return (
    <>
      {mayBuild && !agent.read_only && (
        <IconButton label="Delete agent" size="medium" onClick={() => void drop()}>
          <Trash2 className="size-4" aria-hidden />
        </IconButton>
      )}
      {mayBuild && (
        <Link to="/agents/new" search={{ copy: agent.id }} className={buttonClass()}>
          <Copy className="size-4" aria-hidden />
          Duplicate
        </Link>
      )}
      <UseFromCode agent={agent} />
      {agent.status === "active" && (
        <Link to="/chat" search={{ agent: agent.id }} className={buttonClass("primary")}>
          <MessageSquare className="size-4" aria-hidden />
          Chat
        </Link>
      )}
    </>
  );
}
