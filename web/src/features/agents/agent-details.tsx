/** All about an agent, for reading. */
import { useQuery } from "@tanstack/react-query";
import { Info } from "lucide-react";
import type { ReactNode } from "react";
import { agentsQuery, assignedToolsQuery } from "@/api/queries";
import { CopyButton } from "@/components/ui/copy-button";
import { Card } from "@/components/ui/page";
import { formatCount, formatDuration, formatMoment } from "@/lib/format";
import type { AgentView } from "@/protocol/api";
import { AgentRuns } from "./agent-runs";
import { TeamPicture } from "./team-picture";
import { teamOf } from "./team-tree";

const APPROVALS = {
  tool: "tool's default",
  ask: "always asks",
  never: "never asks",
} as const;

const MEMORY = { off: "Off", suggest: "Suggests", automatic: "Automatic" } as const;

export function AgentDetails({ agent, mayBuild }: { agent: AgentView; mayBuild: boolean }): ReactNode {
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_25rem]">
      <div className="flex min-w-0 flex-col gap-4">
        <p className="flex gap-2 rounded-xl bg-accent-soft px-4 py-3 text-sm text-accent-text">
          <Info className="mt-0.5 size-4 shrink-0" aria-hidden />
          {mayBuild
            ? "This agent is defined in Python code and can only be edited there. Duplicate it to get a copy you can edit here."
            : "Only owners and admins can edit agents. You can chat with it."}
        </p>
        {agent.description && (
          <Card title="Description">
            <p className="text-sm whitespace-pre-wrap wrap-anywhere">{agent.description}</p>
          </Card>
        )}
        <Card title="System prompt">
          <LongText label="System prompt" text={agent.system_prompt} />
        </Card>
        {agent.goal && (
          <Card title="Goal">
            <p className="text-sm whitespace-pre-wrap wrap-anywhere">{agent.goal}</p>
          </Card>
        )}
        <Tools agent={agent} />
        <Team agent={agent} />
        {agent.output_schema && (
          <Card title="Output">
            <LongText label="JSON schema" text={JSON.stringify(agent.output_schema, null, 2)} />
          </Card>
        )}
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        <Card title="Model and limits">
          <Facts agent={agent} />
        </Card>
        <AgentRuns agentId={agent.id} />
      </div>
    </div>
  );
}

function LongText({ label, text }: { label: string; text: string }): ReactNode {
  return (
    <div className="relative">
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-96 overflow-y-auto rounded-xl bg-panel p-4 pr-12 font-mono text-[0.8125rem] leading-relaxed whitespace-pre-wrap wrap-anywhere"
      >
        {text}
      </section>
      <div className="absolute top-1.5 right-2">
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}

function Tools({ agent }: { agent: AgentView }): ReactNode {
  const tools = useQuery(assignedToolsQuery(agent.id));
  const about = new Map(tools.data?.map((tool) => [tool.name, tool.kind && tool.description]));
  return (
    <Card title={`Tools (${agent.tools.length})`}>
      {agent.tools.length === 0 ? (
        <p className="text-sm text-soft">No tools: it only writes text.</p>
      ) : (
        <ul className="divide-y divide-line">
          {agent.tools.map((tool) => (
            <li key={tool.name} className="py-2.5 first:pt-0 last:pb-0">
              <p className="text-sm">
                <span className="font-mono text-[0.8125rem] font-medium">{tool.name}</span>
                <span className="text-soft">
                  {" "}
                  · {agent.approval === "ask" ? APPROVALS.ask : APPROVALS[tool.approval ?? "tool"]}
                </span>
              </p>
              <p className="text-[0.8125rem] text-soft wrap-anywhere">
                {about.get(tool.name) ?? (tools.isSuccess ? "Currently unavailable." : "")}
              </p>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Team({ agent }: { agent: AgentView }): ReactNode {
  const { data: agents } = useQuery({ ...agentsQuery, enabled: agent.handoffs.length > 0 });
  if (agent.handoffs.length === 0) return null;
  return (
    <Card title={`Other agents (${agent.handoffs.length})`}>
      {agents && <TeamPicture name={agent.name} nodes={teamOf(agent, agents)} described />}
    </Card>
  );
}

function Facts({ agent }: { agent: AgentView }): ReactNode {
  const limits = agent.limits;
  const seconds = (value: number | null | undefined) =>
    value === null || value === undefined ? null : formatDuration(value * 1000);
  const count = (value: number | null | undefined) =>
    value === null || value === undefined ? null : formatCount(value);
  const facts: [string, string | null][] = [
    ["Provider", agent.model_provider],
    ["Model", agent.model_name],
    ["Temperature", agent.temperature === null ? "The model's default" : String(agent.temperature)],
    ["Approval", agent.approval === "ask" ? "Asks before every call" : "Tool's default"],
    ["Memory", MEMORY[agent.memory]],
    ["Memories per run", count(limits?.max_memories)],
    ["Past conversations", agent.search_conversations ? "Can be searched" : "Not searched"],
    ["Steps", count(agent.max_steps)],
    ["Tokens", count(limits?.max_tokens)],
    ["Run timeout", seconds(limits?.run_timeout_s)],
    ["Model call timeout", seconds(limits?.turn_timeout_s)],
    ["Tool call timeout", seconds(limits?.tool_timeout_s)],
    ["Prompt tokens", count(limits?.context_tokens)],
    ["History messages", count(limits?.max_history_messages)],
    ["Summarise past (tokens)", limits?.compact_at_tokens === 0 ? "Never" : count(limits?.compact_at_tokens)],
    ["Tool description tokens", count(limits?.max_tool_tokens)],
    ["Created", formatMoment(agent.created_at)],
    ["Updated", formatMoment(agent.updated_at)],
  ];
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-soft">{name}</dt>
          <dd className="text-right wrap-anywhere">{value ?? "Server default"}</dd>
        </div>
      ))}
    </dl>
  );
}
