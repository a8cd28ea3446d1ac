/** What this server is: its version, where it keeps things, who works for it. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api, data } from "@/api/client";
import { problemOf } from "@/api/problem";
import { Card, Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { formatAgo, formatMoment } from "@/lib/format";
import type { About } from "@/protocol/api";

const STORES = { sqlite: "SQLite (a file on the server)", postgres: "PostgreSQL" } as const;
const HOMES = {
  embedded: "in the server process",
  distributed: "in separate workers",
} as const;
const DOCS: [file: string, what: string][] = [
  ["docs/server.md", "running a server and its API"],
  ["docs/providers.md", "connecting models"],
  ["docs/tools.md", "agent tools"],
  ["docs/memory.md", "what agents remember"],
  ["docs/mcp.md", "tools of MCP servers"],
  ["docs/mcp_server.md", "agents as MCP tools for other programs"],
  ["docs/handoffs.md", "agents that work together"],
  ["docs/agents_sdk.md", "agents of the OpenAI Agents SDK"],
  ["docs/traces.md", "sending traces elsewhere"],
  ["docs/security.md", "permissions and how secrets are stored"],
  ["docs/oidc.md", "signing in with OpenID Connect"],
  ["docs/errors.md", "every error code"],
];

export function AboutSection(): ReactNode {
  const server = useQuery({ queryKey: ["about"], queryFn: readServer });
  return (
    <Page title="About" description="agio is a server for agents. Every run is a durable event log.">
      <div className="flex flex-col gap-5">
        <Card title="This server">
          {server.isPending && <SkeletonRows rows={3} className="h-6" />}
          {server.isError && <ProblemNote problem={server.error} onRetry={() => void server.refetch()} />}
          {server.data && <Facts facts={factsOf(server.data)} />}
        </Card>
        <Card title="Documentation">
          <p className="mb-3 text-sm text-soft">
            Included with the source. The API description is at{" "}
            <a href="/api/openapi.json" className="text-accent-text underline">
              /api/openapi.json
            </a>
            .
          </p>
          <Facts facts={DOCS} mono />
        </Card>
        <Card title="Keyboard">
          <p className="text-sm text-soft">
            Press{" "}
            <kbd className="rounded-md border border-line bg-panel px-1.5 py-0.5 font-mono text-xs">?</kbd>{" "}
            anywhere for all shortcuts.
          </p>
        </Card>
        <p className="text-sm text-soft">Free software under the Apache License 2.0 (Apache-2.0).</p>
      </div>
    </Page>
  );
}

/** What an older server, which does not say what it is, can still tell. */
interface Ready {
  workers: number;
}

export async function readServer(): Promise<About | Ready> {
  try {
    return await data(api.GET("/api/about"));
  } catch (thrown) {
    if (problemOf(thrown).status !== 404) throw thrown;
    return data(api.GET("/api/ready"));
  }
}

function factsOf(server: About | Ready): [string, ReactNode][] {
  const workers: [string, ReactNode] = [
    "Workers",
    `${server.workers} connected${"home" in server ? `; agents run ${HOMES[server.home]}` : ""}`,
  ];
  if (!("version" in server)) return [workers];
  return [
    ["Version", server.version],
    ["Store", STORES[server.store]],
    workers,
    [
      "Started",
      <span key="at" title={formatMoment(server.started_at)}>
        {formatAgo(server.started_at)}
      </span>,
    ],
    ["Python", server.python],
  ];
}

function Facts({ facts, mono }: { facts: [string, ReactNode][]; mono?: boolean }): ReactNode {
  return (
    <dl className="flex flex-col gap-2 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} className="flex flex-col gap-x-4 sm:flex-row">
          <dt className={mono ? "w-44 shrink-0 font-mono text-[0.8125rem]" : "w-32 shrink-0 text-soft"}>
            {name}
          </dt>
          <dd className={mono ? "text-soft" : "min-w-0 wrap-anywhere"}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
