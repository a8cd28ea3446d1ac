/** What is said of an agent in a word or two. */
import type { ReactNode } from "react";
import { Badge } from "@/components/ui/badge";
import { Tooltip } from "@/components/ui/tooltip";
import type { AgentView } from "@/protocol/api";

export function AgentBadges({ agent }: { agent: AgentView }): ReactNode {
  return (
    <>
      <Badge tone={agent.status === "active" ? "good" : "neutral"}>
        {agent.status === "active" ? "Active" : "Inactive"}
      </Badge>
      {agent.read_only && (
        <Tooltip label="Edit it in the Python code that defines it.">
          <span className="inline-flex">
            <Badge tone="accent">Defined in code</Badge>
          </span>
        </Tooltip>
      )}
    </>
  );
}
