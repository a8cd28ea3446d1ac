/** The pages of one tool: a new one, one of the team's own, or one that can only be looked at and tried. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { SearchX } from "lucide-react";
import type { ReactNode } from "react";
import { agentToolsQuery } from "@/api/queries";
import { buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Card, Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { KINDS } from "@/lib/tool-words";
import type { AgentToolDetails } from "@/protocol/api";
import { BackToTools } from "./back-to-tools";
import { BESIDE } from "./beside";
import { HttpToolEditor } from "./http-tool-editor";
import { ToolDetails } from "./tool-details";
import { copyOf } from "./tool-form";
import { ToolUsers } from "./tool-users";
import { TrialConsole } from "./trial-console";

export function NewToolPage(): ReactNode {
  const { copy } = useSearch({ strict: false });
  const { data: tools, error, refetch } = useQuery(agentToolsQuery);
  if (!tools)
    return (
      <Page title="New tool" above={<BackToTools />} wide>
        {error ? (
          <ProblemNote problem={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows className="h-32" />
        )}
      </Page>
    );
  const taken = tools.map(({ name }) => name);
  const original = tools.find(({ id, kind }) => id === copy && kind === "http");
  return <HttpToolEditor key={copy ?? ""} start={original && copyOf(original, taken)} taken={taken} />;
}

export function ToolPage(): ReactNode {
  const { toolId } = useParams({ from: "/inside/building/tools/$toolId" });
  const { data: tools, error, refetch } = useQuery(agentToolsQuery);
  const tool = tools?.find(({ id }) => id === toolId);
  if (!tools)
    return (
      <Page title="Tool" above={<BackToTools />} wide>
        {error ? (
          <ProblemNote problem={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows className="h-32" />
        )}
      </Page>
    );
  if (!tool)
    return (
      <Page title="Tool" above={<BackToTools />}>
        <Empty
          icon={SearchX}
          title="Tool not found"
          action={
            <Link to="/tools" className={buttonClass("primary")}>
              All tools
            </Link>
          }
        >
          It was deleted, belongs to another team, or its worker is not connected.
        </Empty>
      </Page>
    );
  if (tool.read_only) return <LookPage tool={tool} />;
  const taken = tools.flatMap(({ id, name }) => (id === tool.id ? [] : [name]));
  return <HttpToolEditor key={tool.id} tool={tool} taken={taken} />;
}

function LookPage({ tool }: { tool: AgentToolDetails }): ReactNode {
  const { server } = tool;
  const description = server ? (
    <>
      The tool <span className="font-mono">{server.tool}</span> of{" "}
      <Link
        to="/settings/mcp-servers/$serverId"
        params={{ serverId: server.id }}
        className="font-medium text-accent-text underline underline-offset-2"
      >
        {server.name}
      </Link>
      {server.on ? "." : ". Agents do not have it now: it is off, or its server changed it."}
    </>
  ) : (
    `${KINDS[tool.kind].one}. You cannot edit it here.`
  );
  return (
    <Page title={tool.name} description={description} above={<BackToTools />} wide>
      <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <ToolDetails tool={tool} />
        <div className={BESIDE}>
          {tool.place === "gateway" ? (
            <TrialConsole key={tool.id} tool={tool} />
          ) : (
            <Card title="Try it">
              <p className="text-sm text-soft">
                This tool runs in your workers, as part of an agent's run. To test it, add it to an agent and
                use it in a chat.
              </p>
            </Card>
          )}
          <ToolUsers tool={tool} />
        </div>
      </div>
    </Page>
  );
}
