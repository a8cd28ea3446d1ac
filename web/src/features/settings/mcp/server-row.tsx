/** An MCP server in the list, with its health. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { MoreHorizontal, Pencil, Trash2, Zap } from "lucide-react";
import type { ReactNode } from "react";
import { Badge } from "@/components/ui/badge";
import { Button, IconButton } from "@/components/ui/button";
import { Menu, MenuItem } from "@/components/ui/menu";
import type { McpServerView } from "@/protocol/api";
import { Health } from "./check-result";
import { mcpCheckQuery } from "./mcp-queries";
import { countOf, TRANSPORT_NAMES } from "./mcp-words";
import { oauthOf } from "./oauth";

interface ServerRowProps {
  server: McpServerView;
  mayBuild: boolean;
  onEdit: () => void;
  onDelete: () => void;
}

export function ServerRow({ server, mayBuild, onEdit, onDelete }: ServerRowProps): ReactNode {
  const check = useQuery({ ...mcpCheckQuery(server.id), enabled: mayBuild && isWatched(server) });
  return (
    <li className="relative rounded-2xl border border-line bg-raised p-4 hover:border-strong-line">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-60">
          <div className="flex flex-wrap items-center gap-2">
            <h3 className="text-sm font-semibold wrap-anywhere">
              <Link
                to="/settings/mcp-servers/$serverId"
                params={{ serverId: server.id }}
                className="after:absolute after:inset-0"
              >
                {server.name}
              </Link>
            </h3>
            <ServerBadges server={server} />
          </div>
          {server.server_url && (
            <p className="mt-1 font-mono text-xs text-soft wrap-anywhere">{server.server_url}</p>
          )}
          <div className="mt-1.5">
            <Health check={check.data} problem={check.error} checking={check.isFetching} />
          </div>
        </div>
        {mayBuild && (
          <div className="relative flex items-center gap-1">
            <Button
              size="small"
              aria-label={`Check ${server.name}`}
              busy={check.isFetching}
              onClick={() => void check.refetch()}
            >
              {!check.isFetching && <Zap className="size-3.5" aria-hidden />} Check
            </Button>
            {server.source === "team" && (
              <Menu
                trigger={
                  <IconButton label={`Options for ${server.name}`}>
                    <MoreHorizontal className="size-4" aria-hidden />
                  </IconButton>
                }
              >
                <MenuItem onSelect={onEdit}>
                  <Pencil className="size-4" aria-hidden /> Edit
                </MenuItem>
                <MenuItem danger onSelect={onDelete}>
                  <Trash2 className="size-4" aria-hidden /> Delete
                </MenuItem>
              </Menu>
            )}
          </div>
        )}
      </div>
    </li>
  );
}

/** Looking at the page starts no command and connects to no server that is off. */
export const isWatched = ({ enabled, transport }: McpServerView): boolean => enabled && transport !== "stdio";

export function ServerBadges({ server }: { server: McpServerView }): ReactNode {
  const oauth = oauthOf(server);
  return (
    <>
      <Badge>{TRANSPORT_NAMES[server.transport]}</Badge>
      {server.enabled ? (
        <Badge tone={server.tools_on > 0 ? "good" : "neutral"}>{countOf(server.tools_on)} on</Badge>
      ) : (
        <Badge tone="warn">Disabled</Badge>
      )}
      {server.tools_changed > 0 && <Badge tone="warn">{server.tools_changed} changed</Badge>}
      {oauth && (
        <Badge tone={oauth.connected ? "good" : "warn"}>
          {oauth.connected ? "Connected" : "Not connected"}
        </Badge>
      )}
    </>
  );
}
