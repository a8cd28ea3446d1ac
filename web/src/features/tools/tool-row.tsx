/** A tool in the list. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { AgentToolDetails } from "@/protocol/api";
import { ApprovalBadge, EffectBadge } from "./tool-badges";
import { usedBy } from "./tool-words";

interface ToolRowProps {
  tool: AgentToolDetails;
  /** How many agents have it; undefined while that is on its way. */
  users: number | undefined;
}

export function ToolRow({ tool, users }: ToolRowProps): ReactNode {
  return (
    <li className="relative flex flex-col gap-x-6 gap-y-2 px-5 py-3.5 hover:bg-hover/50 sm:flex-row sm:items-center">
      <div className="min-w-0 flex-1">
        <h3 className="text-sm font-medium">
          <Link
            to="/tools/$toolId"
            params={{ toolId: tool.id }}
            className="font-mono wrap-anywhere after:absolute after:inset-0"
          >
            {tool.name}
          </Link>
        </h3>
        <p className="mt-0.5 line-clamp-2 text-[0.8125rem] text-soft wrap-anywhere">
          {tool.description || "No description."}
        </p>
        {tool.server && (
          <p className="mt-1 truncate text-xs text-soft">
            <span className="font-mono">{tool.server.tool}</span> · {tool.server.name}
            {!tool.server.on && " · not available to agents"}
          </p>
        )}
        {tool.method && tool.url && (
          <p className="mt-1 truncate font-mono text-xs text-soft">
            {tool.method} {tool.url}
          </p>
        )}
      </div>
      <div className="flex shrink-0 flex-wrap items-center gap-2 sm:justify-end">
        <EffectBadge effect={tool.effect} />
        <ApprovalBadge approval={tool.approval} />
        <span className="min-w-28 text-xs text-soft sm:text-right">
          {users === undefined ? "" : usedBy(users)}
        </span>
      </div>
    </li>
  );
}
