/** One agent in the list, with what can be done with it. */
import { Link } from "@tanstack/react-router";
import { Copy, Cpu, Ellipsis, MessageSquare, Pencil, Trash2, Wrench } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClass, IconButton } from "@/components/ui/button";
import { Menu, MenuItem, MenuLine } from "@/components/ui/menu";
import { formatAgo, formatMoment } from "@/lib/format";
import type { AgentView } from "@/protocol/api";
import { AgentBadges } from "./agent-badges";

interface AgentCardProps {
  agent: AgentView;
  mayBuild: boolean;
  onDelete: (agent: AgentView) => void;
}

export function AgentCard({ agent, mayBuild, onDelete }: AgentCardProps): ReactNode {
  const tools = agent.tools.length;
  return (
    <li className="relative flex flex-col rounded-2xl border border-line bg-raised p-5 transition-colors focus-within:border-strong-line/60 hover:border-strong-line/60">
      <div className="flex items-start justify-between gap-2">
        <h2 className="line-clamp-2 min-w-0 text-[0.9375rem] font-semibold wrap-anywhere" title={agent.name}>
          <Link
            to="/agents/$agentId"
            params={{ agentId: agent.id }}
            className="after:absolute after:inset-0 after:rounded-2xl"
          >
            {agent.name}
          </Link>
        </h2>
        <div className="relative z-10 -mt-1 -mr-2 shrink-0">
          <AgentMenu agent={agent} mayBuild={mayBuild} onDelete={onDelete} />
        </div>
      </div>
      <div className="relative z-10 mt-1 flex flex-wrap gap-1.5 self-start">
        <AgentBadges agent={agent} />
      </div>
      <p className="mt-3 line-clamp-2 min-h-11 text-sm text-soft wrap-anywhere">
        {agent.description || "No description."}
      </p>
      <dl className="mt-3 flex flex-col gap-1 text-[0.8125rem] text-soft">
        <div className="flex items-center gap-2">
          <dt>
            <Cpu className="size-3.5" aria-hidden />
            <span className="sr-only">Model</span>
          </dt>
          <dd className="min-w-0 truncate">
            {agent.model_provider} · {agent.model_name}
          </dd>
        </div>
        <div className="flex items-center gap-2">
          <dt>
            <Wrench className="size-3.5" aria-hidden />
            <span className="sr-only">Tools</span>
          </dt>
          <dd>{tools === 0 ? "No tools" : `${tools} ${tools === 1 ? "tool" : "tools"}`}</dd>
        </div>
      </dl>
      <div className="mt-auto flex min-h-13 items-end justify-between gap-2 pt-5">
        <span className="pb-1.5 text-xs text-soft" title={formatMoment(agent.updated_at)}>
          Updated {formatAgo(agent.updated_at)}
        </span>
        {agent.status === "active" && (
          <Link
            to="/chat"
            search={{ agent: agent.id }}
            className={`${buttonClass("plain", "small")} relative z-10`}
            aria-label={`Chat with ${agent.name}`}
          >
            <MessageSquare className="size-4" aria-hidden />
            Chat
          </Link>
        )}
      </div>
    </li>
  );
}

function AgentMenu({ agent, mayBuild, onDelete }: AgentCardProps): ReactNode {
  if (!mayBuild) return null;
  return (
    <Menu
      trigger={
        <IconButton label={`Options for ${agent.name}`}>
          <Ellipsis className="size-4" aria-hidden />
        </IconButton>
      }
    >
      {!agent.read_only && (
        <MenuItem asChild>
          <Link to="/agents/$agentId" params={{ agentId: agent.id }}>
            <Pencil className="size-4" aria-hidden />
            Edit
          </Link>
        </MenuItem>
      )}
      <MenuItem asChild>
        <Link to="/agents/new" search={{ copy: agent.id }}>
          <Copy className="size-4" aria-hidden />
          Duplicate
        </Link>
      </MenuItem>
      {!agent.read_only && (
        <>
          <MenuLine />
          <MenuItem danger onSelect={() => onDelete(agent)}>
            <Trash2 className="size-4" aria-hidden />
            Delete
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
