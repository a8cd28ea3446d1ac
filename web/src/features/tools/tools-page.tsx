/** All tools an agent can be given: the team's own, the built-in ones, those of connected workers. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Search } from "lucide-react";
import { type ReactNode, useDeferredValue, useState } from "react";
import { agentsQuery, agentToolsQuery } from "@/api/queries";
import { Button, buttonClass } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { KINDS, type Kind } from "@/lib/tool-words";
import type { AgentToolDetails } from "@/protocol/api";
import { NoHttpTools } from "./no-http-tools";
import { ToolRow } from "./tool-row";

const ORDER: Kind[] = ["http", "mcp", "builtin", "module"];

export function ToolsPage(): ReactNode {
  const { data: tools, error, refetch } = useQuery(agentToolsQuery);
  return (
    <Page
      title="Tools"
      description="What agents can do besides writing text. Add tools to agents here or on the agent's page."
      actions={
        <Link to="/tools/new" className={buttonClass("primary")}>
          <Plus className="size-4" aria-hidden />
          New tool
        </Link>
      }
    >
      {error ? (
        <ProblemNote problem={error} onRetry={() => void refetch()} />
      ) : tools ? (
        <Groups tools={tools} />
      ) : (
        <SkeletonRows rows={6} className="h-20" />
      )}
    </Page>
  );
}

function Groups({ tools }: { tools: AgentToolDetails[] }): ReactNode {
  const [search, setSearch] = useState("");
  const { data: agents } = useQuery(agentsQuery);
  const words = useDeferredValue(search).toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ name, description }: AgentToolDetails) =>
    words.every((word) => `${name} ${description}`.toLowerCase().includes(word));
  const found = tools.filter(fits);
  const count = (tool: AgentToolDetails) =>
    agents?.filter((agent) => agent.tools.some(({ name }) => name === tool.name)).length;
  return (
    <>
      <div className="relative mb-6">
        <Search className="pointer-events-none absolute top-2.5 left-3 size-4 text-soft" aria-hidden />
        <Input
          type="search"
          aria-label="Search tools"
          placeholder="Search by name or description"
          className="pl-9"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      <p className="sr-only" aria-live="polite">
        {words.length > 0 && `${found.length} ${found.length === 1 ? "tool" : "tools"} found`}
      </p>
      {words.length > 0 && found.length === 0 && (
        <div className="flex flex-col items-center gap-3 py-12 text-sm text-soft">
          <p>No tool matches “{search.trim()}”.</p>
          <Button size="small" onClick={() => setSearch("")}>
            Show all
          </Button>
        </div>
      )}
      <div className="flex flex-col gap-8">
        {ORDER.map((kind) => {
          const group = found.filter((tool) => tool.kind === kind);
          if (group.length === 0 && (words.length > 0 || kind === "builtin")) return null;
          return (
            <section key={kind} aria-labelledby={`tools-${kind}`}>
              <h2 id={`tools-${kind}`} className="text-sm font-semibold">
                {KINDS[kind].title}
              </h2>
              <p className="mb-3 text-[0.8125rem] text-soft">{KINDS[kind].meaning}</p>
              {group.length > 0 && (
                <ul className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-raised">
                  {group.map((tool) => (
                    <ToolRow key={tool.id} tool={tool} users={count(tool)} />
                  ))}
                </ul>
              )}
              {group.length === 0 && kind === "http" && <NoHttpTools />}
              {kind === "mcp" && <McpServersLink none={group.length === 0} />}
              {group.length === 0 && kind === "module" && <NoWorkerTools />}
            </section>
          );
        })}
      </div>
    </>
  );
}

function McpServersLink({ none }: { none: boolean }): ReactNode {
  return (
    <p
      className={
        none ? "rounded-2xl border border-dashed border-line px-5 py-4 text-sm text-soft" : "mt-2 text-sm"
      }
    >
      {none && "No tools enabled. "}
      <Link
        to="/settings/$section"
        params={{ section: "mcp-servers" }}
        className="font-medium text-accent-text underline underline-offset-2"
      >
        {none ? "Add a server and enable its tools" : "Manage MCP servers"}
      </Link>
    </p>
  );
}

function NoWorkerTools(): ReactNode {
  return (
    <p className="rounded-2xl border border-dashed border-line px-5 py-4 text-sm text-soft">
      None yet. Functions with <code className="font-mono text-[0.8125rem]">@tool</code> appear here when you
      start the server with your module:{" "}
      <code className="font-mono text-[0.8125rem]">agio serve --app tools.py</code>
    </p>
  );
}
