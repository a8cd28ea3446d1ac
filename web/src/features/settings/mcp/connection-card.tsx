/** The OAuth connection of a server: connect, connect again, disconnect. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link2, Unlink } from "lucide-react";
import type { ReactNode } from "react";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Card } from "@/components/ui/page";
import { useToast } from "@/components/ui/toast";
import { formatMoment } from "@/lib/format";
import type { McpServerView } from "@/protocol/api";
import { refreshMcpServer } from "./mcp-queries";
import { connect, disconnect, oauthOf } from "./oauth";

interface ConnectionCardProps {
  server: McpServerView;
  mayBuild: boolean;
}

export function ConnectionCard({ server, mayBuild }: ConnectionCardProps): ReactNode {
  const client = useQueryClient();
  const confirm = useConfirm();
  const toast = useToast();
  const start = useMutation({
    mutationFn: () => connect(server.id),
    onSuccess: (address) => window.location.assign(address),
    onError: (thrown) => toast.failed(thrown),
  });
  const end = useMutation({
    mutationFn: () => disconnect(server.id),
    onSuccess: () => toast.done(`${server.name} disconnected`),
    onError: (thrown) => toast.failed(thrown),
    onSettled: () => refreshMcpServer(client, server.id),
  });
  const oauth = oauthOf(server);
  if (!oauth) return null;
  const personal = oauth.scope === "user";
  const drop = async () => {
    const sure = await confirm({
      title: `Disconnect ${server.name}?`,
      message: personal
        ? "Your agents' calls of its tools fail until you connect again."
        : "Your team's agents lose its tools until someone connects again.",
      action: "Disconnect",
      danger: true,
    });
    if (sure) end.mutate();
  };
  return (
    <Card title="Connection" className="mb-5">
      <div className="flex flex-col gap-3 text-sm">
        <p className="flex flex-wrap items-center gap-2">
          <Badge tone={oauth.connected ? "good" : "warn"}>
            {oauth.connected ? "Connected" : "Not connected"}
          </Badge>
          <span className="text-soft">{personal ? "Each person connects." : "Shared by your team."}</span>
        </p>
        {oauth.issuer && <p className="text-[0.8125rem] text-soft wrap-anywhere">At {oauth.issuer}</p>}
        {oauth.connected && oauth.expiresAt !== null && (
          <p className="text-[0.8125rem] text-soft">
            The token is valid until {formatMoment(oauth.expiresAt)}, and is then renewed.
          </p>
        )}
        {oauth.error && (
          <p
            role="alert"
            className="rounded-xl bg-bad-soft px-3.5 py-2.5 text-[0.8125rem] text-bad wrap-anywhere"
          >
            {oauth.error}
          </p>
        )}
        {(personal || mayBuild) && (
          <div className="flex flex-wrap gap-2">
            <Button
              look={oauth.connected ? "plain" : "primary"}
              size="small"
              busy={start.isPending}
              onClick={() => start.mutate()}
            >
              <Link2 className="size-3.5" aria-hidden /> {oauth.connected ? "Connect again" : "Connect"}
            </Button>
            {oauth.connected && (
              <Button size="small" busy={end.isPending} onClick={() => void drop()}>
                <Unlink className="size-3.5" aria-hidden /> Disconnect
              </Button>
            )}
          </div>
        )}
      </div>
    </Card>
  );
}
