/** Who ran what, when and for how long. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";
import { agentsQuery } from "@/api/queries";
import { RunStatus } from "@/components/run-status";
import { CopyButton } from "@/components/ui/copy-button";
import { Tooltip } from "@/components/ui/tooltip";
import { formatAgo, formatMoment } from "@/lib/format";
import type { RunView } from "@/protocol/api";
import { RunDefinition } from "./run-definition";
import { traceQuery } from "./run-queries";
import { durationWords } from "./run-words";

interface RunFactsProps {
  run: RunView;
  now: number;
}

export function RunFacts({ run, now }: RunFactsProps): ReactNode {
  const started = run.started_at ?? run.created_at;
  return (
    <div className="mb-5">
      <dl className="flex flex-wrap gap-x-8 gap-y-3 text-sm">
        <Fact name="Status">
          <span aria-live="polite">
            <RunStatus run={run} />
          </span>
        </Fact>
        <Fact name="Agent">
          <AgentName run={run} />
        </Fact>
        {run.active_agent && <Fact name="Handed over to">{run.active_agent}</Fact>}
        <Fact name="Model">{run.model}</Fact>
        <Fact name="Person">{run.user_name || run.user}</Fact>
        <Fact name={run.started_at === null ? "Sent" : "Started"}>
          <Tooltip label={formatMoment(started)}>
            <time dateTime={new Date(started).toISOString()}>{formatAgo(started, now)}</time>
          </Tooltip>
        </Fact>
        <Fact name="Duration">
          <span className="tabular-nums">{durationWords(run, now)}</span>
        </Fact>
        {run.goal_met !== null && <Fact name="Goal">{run.goal_met ? "Met" : "Not met"}</Fact>}
        <Fact name="Request">
          <span className="-my-1.5 flex items-center gap-1">
            <span className="min-w-0 font-mono text-xs wrap-anywhere">{run.request_id}</span>
            <CopyButton text={run.request_id} label="Copy request ID" />
          </span>
        </Fact>
      </dl>
      <RunDefinition run={run} />
      {run.ended_at !== null && <TraceLinks run={run} />}
      {run.parent_run_id !== null && (
        <p className="mt-3 text-[0.8125rem] text-soft">
          Continues{" "}
          <Link
            to="/runs/$runId"
            params={{ runId: run.parent_run_id }}
            className="font-mono text-xs text-accent-text underline-offset-4 hover:underline"
          >
            {run.parent_run_id}
          </Link>
          {run.branched && ", on a branch of the chat"}
        </p>
      )}
      {run.parent_run_id === null && run.branched && (
        <p className="mt-3 text-[0.8125rem] text-soft">Begins a branch of the chat</p>
      )}
      {run.copied_from !== null && (
        <p className="mt-3 text-[0.8125rem] text-soft">
          This is a copy, created when its chat was forked{run.copied_from === "" ? "" : " from "}
          {run.copied_from !== "" && (
            <Link
              to="/runs/$runId"
              params={{ runId: run.copied_from }}
              className="text-accent-text underline-offset-4 hover:underline"
            >
              this run
            </Link>
          )}
          . Its usage is counted once.
        </p>
      )}
      {run.epoch > 1 && (
        <p className="mt-3 text-[0.8125rem] text-soft">
          Another worker took over this run{run.epoch > 2 ? ` ${run.epoch - 1} times` : ""}, because the
          previous worker stopped. Unfinished work was repeated.
        </p>
      )}
    </div>
  );
}

const SERVICES = { openai: "OpenAI dashboard", otlp: "trace viewer" } as const;

/** Ways to the run's trace in the services that it is sent to. */
function TraceLinks({ run }: { run: RunView }): ReactNode {
  const links = useQuery(traceQuery(run.id)).data?.links ?? [];
  if (links.length === 0) return null;
  return (
    <p className="mt-3 flex flex-wrap gap-x-5 gap-y-1 text-[0.8125rem]">
      {links.map(({ service, url }) => (
        <a
          key={service}
          href={url}
          target="_blank"
          rel="noreferrer"
          className="inline-flex items-center gap-1 text-accent-text underline-offset-4 hover:underline"
        >
          Open in the {SERVICES[service]}
          <ExternalLink className="size-3.5" aria-hidden />
        </a>
      ))}
    </p>
  );
}

/** The agent's name, as a link while there still is such an agent. */
function AgentName({ run }: { run: RunView }): ReactNode {
  const agents = useQuery(agentsQuery);
  if (!agents.data?.some((agent) => agent.id === run.agent_id)) return run.agent_name;
  return (
    <Link
      to="/agents/$agentId"
      params={{ agentId: run.agent_id }}
      className="text-accent-text underline-offset-4 hover:underline"
    >
      {run.agent_name}
    </Link>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-soft">{name}</dt>
      <dd className="mt-0.5 wrap-anywhere">{children}</dd>
    </div>
  );
}
