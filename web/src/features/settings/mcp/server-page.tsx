/** One MCP server: its health, its tools with their switches, and the agents that have them. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowLeft, Blocks, Pencil, Trash2, Zap } from "lucide-react";
import { type ReactNode, useState } from "react";
import { problemOf } from "@/api/problem";
import { Button, buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Input } from "@/components/ui/field";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Tabs } from "@/components/ui/tabs";
import { useToast } from "@/components/ui/toast";
import type { McpServerDetails } from "@/protocol/api";
import { Health } from "./check-result";
import { ConnectionCard } from "./connection-card";
import { mcpCheckQuery, mcpServerQuery } from "./mcp-queries";
import { countOf, inOrder, shapeOf } from "./mcp-words";
import { oauthOf } from "./oauth";
import { ServerAgents } from "./server-agents";
import { ServerDialog } from "./server-dialog";
import { isWatched, ServerBadges } from "./server-row";
import { ServerTool } from "./server-tool";
import { useDeleteServer } from "./use-delete-server";

interface ServerPageProps {
  serverId: string;
  mayBuild: boolean;
}

export function ServerPage({ serverId, mayBuild }: ServerPageProps): ReactNode {
  const server = useQuery(mcpServerQuery(serverId));
  if (server.data) return <Known server={server.data} mayBuild={mayBuild} />;
  if (server.isError && problemOf(server.error).code === "mcp_server_not_found")
    return (
      <Page title="MCP server" above={<BackToServers />}>
        <Empty
          icon={Blocks}
          title="MCP server not found"
          action={
            <Link
              to="/settings/$section"
              params={{ section: "mcp-servers" }}
              className={buttonClass("primary")}
            >
              All MCP servers
            </Link>
          }
        >
          It was deleted, or belongs to another team.
        </Empty>
      </Page>
    );
  return (
    <Page title="MCP server" above={<BackToServers />}>
      {server.isError ? (
        <ProblemNote problem={server.error} onRetry={() => void server.refetch()} />
      ) : (
        <SkeletonRows rows={4} className="h-24" />
      )}
    </Page>
  );
}

function Known({ server, mayBuild }: { server: McpServerDetails; mayBuild: boolean }): ReactNode {
  const check = useQuery({ ...mcpCheckQuery(server.id), enabled: mayBuild && isWatched(server) });
  const navigate = useNavigate();
  const toast = useToast();
  const remove = useDeleteServer();
  const [editing, setEditing] = useState(false);
  const gone = async () => {
    await navigate({ to: "/settings/$section", params: { section: "mcp-servers" } });
  };
  const isOwn = server.source === "team";
  return (
    <Page
      title={server.name}
      above={<BackToServers />}
      actions={
        mayBuild && (
          <>
            <Button busy={check.isFetching} onClick={() => void check.refetch()}>
              {!check.isFetching && <Zap className="size-4" aria-hidden />} Check
            </Button>
            {isOwn && (
              <>
                <Button onClick={() => setEditing(true)}>
                  <Pencil className="size-4" aria-hidden /> Edit
                </Button>
                <Button onClick={() => void remove(server, gone)}>
                  <Trash2 className="size-4" aria-hidden /> Delete
                </Button>
              </>
            )}
          </>
        )
      }
    >
      <div className="-mt-3 mb-5 flex flex-col gap-2">
        <div className="flex flex-wrap gap-1.5">
          <ServerBadges server={server} />
        </div>
        {server.server_url && (
          <p className="font-mono text-xs text-soft wrap-anywhere">{server.server_url}</p>
        )}
        {!isOwn && (
          <p className="text-[0.8125rem] text-soft">
            Started by the server administrator's agio.toml. You can switch its tools on and off.
          </p>
        )}
        <Health check={check.data} problem={check.error} checking={check.isFetching} />
        <Returned server={server} />
      </div>
      <ConnectionCard server={server} mayBuild={mayBuild} />
      {mayBuild ? (
        <Tabs
          label={server.name}
          tabs={[
            { id: "tools", title: "Tools", content: <Tools server={server} mayBuild /> },
            { id: "agents", title: "Agents", content: <ServerAgents server={server} /> },
          ]}
        />
      ) : (
        <Tools server={server} mayBuild={false} />
      )}
      {editing && (
        <ServerDialog
          server={server}
          onClose={() => setEditing(false)}
          onSaved={(saved) => {
            setEditing(false);
            toast.done(`MCP server "${saved.name}" saved`);
            void check.refetch();
          }}
        />
      )}
    </Page>
  );
}

/** What came of connecting, where the server sends a person back to. */
function Returned({ server }: { server: McpServerDetails }): ReactNode {
  const { connected, error } = useSearch({ strict: false });
  if (error)
    return (
      <p role="alert" className="rounded-xl bg-bad-soft px-4 py-3 text-sm text-bad wrap-anywhere">
        It was not connected. Try again, or ask the server's administrator.{" "}
        <span className="font-mono text-xs">{error}</span>
      </p>
    );
  return connected && oauthOf(server)?.connected ? (
    <p role="status" className="rounded-xl bg-good-soft px-4 py-3 text-sm text-good">
      Connected.
    </p>
  ) : null;
}

const MANY = 10;

function Tools({ server, mayBuild }: { server: McpServerDetails; mayBuild: boolean }): ReactNode {
  const [search, setSearch] = useState("");
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = inOrder(server.tools).filter((tool) => {
    const text = `${tool.name} ${shapeOf(tool)?.description ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const waiting = (["new", "changed"] as const)
    .map((word) => [server.tools.filter(({ state }) => state === word).length, word] as const)
    .filter(([count]) => count > 0)
    .map(([count, word]) => `, ${count} ${word}`);
  if (server.tools.length === 0)
    return (
      <p className="text-sm text-soft">
        No tools are known yet. Check the server: they appear here once it answers.
      </p>
    );
  return (
    <section aria-labelledby="mcp-tools" className="min-w-0">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
        <div>
          <h2 id="mcp-tools" className="sr-only">
            Tools
          </h2>
          <p className="text-[0.8125rem] text-soft" aria-live="polite">
            {words.length > 0 ? `${countOf(found.length)} found` : countOf(server.tools.length)}
            {words.length === 0 && waiting}
          </p>
        </div>
        {server.tools.length >= MANY && (
          <Input
            type="search"
            aria-label="Search tools"
            placeholder="Search tools"
            className="sm:w-64"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        )}
      </div>
      {found.length === 0 ? (
        <p className="py-8 text-center text-sm text-soft">No matching tools.</p>
      ) : (
        <ul className="divide-y divide-line rounded-2xl border border-line bg-raised">
          {found.map((tool) => (
            <ServerTool key={tool.id} serverId={server.id} tool={tool} mayBuild={mayBuild} />
          ))}
        </ul>
      )}
    </section>
  );
}

function BackToServers(): ReactNode {
  return (
    <Link
      to="/settings/$section"
      params={{ section: "mcp-servers" }}
      className="mb-2 inline-flex items-center gap-1 text-[0.8125rem] text-soft hover:text-ink"
    >
      <ArrowLeft className="size-3.5" aria-hidden />
      MCP servers
    </Link>
  );
}
