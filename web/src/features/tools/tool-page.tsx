/** The pages of one tool: a new one, one of the team's own, or one that can only be looked at and tried. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { Lock, SearchX } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Card, Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { agentToolsQuery, meQuery } from "@/lib/queries";
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
  const { data: me } = useQuery(meQuery);
  const { data: tools, error, refetch } = useQuery(agentToolsQuery);
  if (!tools || !me)
    return (
      <Page title="New tool" above={<BackToTools />} wide>
        {error ? (
          <ProblemNote problem={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows className="h-32" />
        )}
      </Page>
    );
  if (!me.permissions.includes("build"))
    return (
      <Page title="New tool" above={<BackToTools />}>
        <Empty icon={Lock} title="Tools are made by owners and admins">
          Ask one of them to make it, or to give you their role.
        </Empty>
      </Page>
    );
  const taken = tools.map(({ name }) => name);
  const original = tools.find(({ id, kind }) => id === copy && kind === "http");
  return <HttpToolEditor key={copy ?? ""} start={original && copyOf(original, taken)} taken={taken} />;
}

export function ToolPage(): ReactNode {
  const { toolId } = useParams({ from: "/inside/tools/$toolId" });
  const { data: me } = useQuery(meQuery);
  const { data: tools, error, refetch } = useQuery(agentToolsQuery);
  const tool = tools?.find(({ id }) => id === toolId);
  if (!tools || !me)
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
          title="This tool is not there"
          action={
            <Link to="/tools" className={buttonClass("primary")}>
              All tools
            </Link>
          }
        >
          It was deleted, belongs to another team, or its worker is not connected now.
        </Empty>
      </Page>
    );
  const mayBuild = me.permissions.includes("build");
  if (tool.read_only || !mayBuild) return <LookPage tool={tool} mayBuild={mayBuild} />;
  const taken = tools.flatMap(({ id, name }) => (id === tool.id ? [] : [name]));
  return <HttpToolEditor key={tool.id} tool={tool} taken={taken} />;
}

function LookPage({ tool, mayBuild }: { tool: AgentToolDetails; mayBuild: boolean }): ReactNode {
  const reason = tool.read_only
    ? "it cannot be changed here"
    : "you may look at it and call it, but not change it";
  return (
    <Page title={tool.name} description={`${KINDS[tool.kind].one}: ${reason}.`} above={<BackToTools />} wide>
      <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <ToolDetails tool={tool} />
        <div className={BESIDE}>
          {tool.place !== "gateway" ? (
            <Card title="Try it">
              <p className="text-sm text-soft">
                It runs in your workers, and only within a run of an agent. Give it to an agent and ask for it
                in a chat.
              </p>
            </Card>
          ) : mayBuild || tool.approval === "never" ? (
            <TrialConsole key={tool.id} tool={tool} mayBuild={mayBuild} />
          ) : (
            <Card title="Try it">
              <p className="text-sm text-soft">
                It asks a person before each call. Ask an agent that has it in a chat, and approve the call
                there.
              </p>
            </Card>
          )}
          <ToolUsers tool={tool} mayBuild={mayBuild} />
        </div>
      </div>
    </Page>
  );
}
