/** The MCP servers: all of them, or the one in the address. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Blocks, Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import type { McpServerView, Me } from "@/protocol/api";
import { mcpServersQuery } from "./mcp-queries";
import { ServerDialog } from "./server-dialog";
import { ServerPage } from "./server-page";
import { ServerRow } from "./server-row";
import { StdioHelp } from "./stdio-help";
import { useDeleteServer } from "./use-delete-server";

export function McpSection({ me }: { me: Me }): ReactNode {
  const { serverId } = useParams({ strict: false });
  const mayBuild = me.permissions.includes("build");
  return serverId === undefined ? (
    <ServerList mayBuild={mayBuild} />
  ) : (
    <ServerPage key={serverId} serverId={serverId} mayBuild={mayBuild} />
  );
}

function ServerList({ mayBuild }: { mayBuild: boolean }): ReactNode {
  const servers = useQuery(mcpServersQuery);
  const navigate = useNavigate();
  const toast = useToast();
  const remove = useDeleteServer();
  const [opened, setOpened] = useState<{ server?: McpServerView }>();
  const own = servers.data?.filter(({ source }) => source === "team") ?? [];
  const operators = servers.data?.filter(({ source }) => source === "operator") ?? [];
  const rows = (listed: McpServerView[]) => (
    <ul className="flex flex-col gap-3">
      {listed.map((server) => (
        <ServerRow
          key={server.id}
          server={server}
          mayBuild={mayBuild}
          onEdit={() => setOpened({ server })}
          onDelete={() => void remove(server)}
        />
      ))}
    </ul>
  );
  return (
    <Page
      title="MCP servers"
      description="Agents can use the tools of these servers. You decide which tools are on."
      actions={
        mayBuild &&
        own.length > 0 && (
          <Button look="primary" onClick={() => setOpened({})}>
            <Plus className="size-4" aria-hidden /> Add
          </Button>
        )
      }
    >
      {servers.isPending && <SkeletonRows rows={3} className="h-24" />}
      {servers.isError && <ProblemNote problem={servers.error} onRetry={() => void servers.refetch()} />}
      {own.length > 0 && (
        <section aria-labelledby="team-servers">
          <h2 id="team-servers" className="sr-only">
            Servers of your team
          </h2>
          {rows(own)}
        </section>
      )}
      {servers.data && own.length === 0 && (
        <div className="rounded-2xl border border-line bg-raised">
          <Empty
            icon={Blocks}
            title="Give agents the tools of an MCP server"
            action={
              mayBuild && (
                <Button look="primary" onClick={() => setOpened({})}>
                  <Plus className="size-4" aria-hidden /> Add a server
                </Button>
              )
            }
          >
            {mayBuild
              ? "Enter its address, test the connection, and enable the tools you want. Nothing is on until you enable it."
              : "Owners and admins add servers."}
          </Empty>
        </div>
      )}
      {operators.length > 0 && (
        <section className="mt-8" aria-labelledby="operators">
          <h2 id="operators" className="text-sm font-semibold">
            Provided by this server
          </h2>
          <p className="mt-1 mb-3 text-[0.8125rem] text-soft">
            Configured by the server administrator in agio.toml. You can switch their tools on and off.
          </p>
          {rows(operators)}
        </section>
      )}
      {servers.data && <StdioHelp open={servers.data.length === 0} />}
      {opened && (
        <ServerDialog
          server={opened.server}
          onClose={() => setOpened(undefined)}
          onSaved={(saved) => {
            setOpened(undefined);
            toast.done(`MCP server "${saved.name}" ${opened.server ? "saved" : "added"}`);
            if (!opened.server)
              void navigate({ to: "/settings/mcp-servers/$serverId", params: { serverId: saved.id } });
          }}
        />
      )}
    </Page>
  );
}
