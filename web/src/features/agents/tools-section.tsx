/** Which tools the agent has, and whether a person is asked before they are called. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useController, useWatch } from "react-hook-form";
import { agentToolsQuery, assignedToolsQuery } from "@/api/queries";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import type { AgentToolDetails, AssignedTool } from "@/protocol/api";
import type { AgentValues, ChosenTool } from "./agent-values";
import { FormSection, useFieldProblem } from "./form-section";
import { type ShownTool, ToolRow } from "./tool-row";

export function ToolsSection({ agentId }: { agentId: string | undefined }): ReactNode {
  const tools = useQuery(agentToolsQuery);
  const assigned = useQuery(assignedToolsQuery(agentId));
  const { field } = useController<AgentValues, "tools">({ name: "tools" });
  const policy = useWatch<AgentValues, "approval">({ name: "approval" });
  const problem = useFieldProblem("tools");
  const [words, setWords] = useState("");
  const [onlyChosen, setOnlyChosen] = useState(false);
  const chosen = new Map(field.value.map((tool) => [tool.name, tool]));
  const rows = rowsOf(
    tools.data ?? [],
    assigned.data ?? [],
    field.value,
    tools.isSuccess && !assigned.isLoading,
  ).filter((row) => fits(row, words) && (!onlyChosen || chosen.has(row.name)));
  const choose = (name: string, choice: ChosenTool | null) => {
    const others = field.value.filter((tool) => tool.name !== name);
    if (!choice) field.onChange(others);
    else if (chosen.has(name))
      field.onChange(field.value.map((tool) => (tool.name === name ? choice : tool)));
    else field.onChange([...field.value, choice]);
  };
  /** Of an MCP server: all tools that are shown and available, or none of them. */
  const chooseAll = (group: Group, on: boolean) => {
    const names = new Set(group.rows.map(({ name }) => name));
    const added = group.rows.filter(({ name, tool }) => !chosen.has(name) && tool?.server?.on !== false);
    field.onChange(
      on
        ? [...field.value, ...added.map(({ name }): ChosenTool => ({ name, approval: "tool" }))]
        : field.value.filter(({ name }) => !names.has(name)),
    );
  };

  return (
    <FormSection
      title="Tools"
      hint={
        <>
          What the agent can do besides writing text. Create and test tools on the{" "}
          <Link to="/tools" className="font-medium text-accent-text underline underline-offset-2">
            tools page
          </Link>
          .
        </>
      }
    >
      <div className="flex flex-wrap items-center gap-2">
        <Input
          ref={field.ref}
          type="search"
          aria-label="Search tools"
          placeholder="Search tools"
          className="min-w-40 flex-1"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
        />
        <Button
          aria-pressed={onlyChosen}
          className={onlyChosen ? "border-accent! text-accent-text!" : ""}
          onClick={() => setOnlyChosen(!onlyChosen)}
        >
          Selected only ({field.value.length})
        </Button>
      </div>
      {problem && (
        <p role="alert" className="text-[0.8125rem] text-bad">
          {problem}
        </p>
      )}
      {tools.isPending && <SkeletonRows rows={4} />}
      {tools.isError && <ProblemNote problem={tools.error} onRetry={() => void tools.refetch()} />}
      {tools.isSuccess && (
        <section
          aria-label="Tools"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          className="max-h-96 overflow-y-auto rounded-xl border border-line"
        >
          {rows.length === 0 ? (
            <p className="p-4 text-sm text-soft">
              {onlyChosen && !words ? "No tools selected." : "No matching tools."}
            </p>
          ) : (
            groupsOf(rows).map((group) => (
              <ToolGroup
                key={group.server ?? ""}
                server={group.server}
                selected={group.rows.filter(({ name }) => chosen.has(name)).length}
                of={group.rows.length}
                onAll={(on) => chooseAll(group, on)}
              >
                {group.rows.map((row) => (
                  <ToolRow
                    key={row.name}
                    name={row.name}
                    tool={row.tool}
                    chosen={chosen.get(row.name) ?? null}
                    asksAlways={policy === "ask"}
                    onChange={(choice) => choose(row.name, choice)}
                  />
                ))}
              </ToolGroup>
            ))
          )}
        </section>
      )}
    </FormSection>
  );
}

interface ToolGroupProps {
  /** An MCP server's name; null for the other tools. */
  server: string | null;
  selected: number;
  of: number;
  onAll: (on: boolean) => void;
  children: ReactNode;
}

function ToolGroup({ server, selected, of, onAll, children }: ToolGroupProps): ReactNode {
  return (
    <div className="border-t border-line first:border-t-0">
      {server !== null && (
        <div className="sticky top-0 z-10 flex flex-wrap items-center justify-between gap-2 border-b border-line bg-panel px-3.5 py-1.5">
          <h3 className="min-w-0 text-[0.8125rem] font-semibold wrap-anywhere">
            {server}{" "}
            <span className="font-normal text-soft">
              MCP server · {selected} of {of} selected
            </span>
          </h3>
          <span className="flex gap-1">
            <Button
              look="quiet"
              size="small"
              aria-label={`Select all tools of ${server}`}
              disabled={selected === of}
              onClick={() => onAll(true)}
            >
              All
            </Button>
            <Button
              look="quiet"
              size="small"
              aria-label={`Select no tools of ${server}`}
              disabled={selected === 0}
              onClick={() => onAll(false)}
            >
              None
            </Button>
          </span>
        </div>
      )}
      <ul className="divide-y divide-line">{children}</ul>
    </div>
  );
}

interface Row {
  name: string;
  /** Null: the agent has it, but it is not there now. */
  tool: ShownTool | null;
}

/** Tools that are missing, or that only this agent can have, come first, then the team's. */
function rowsOf(
  tools: readonly AgentToolDetails[],
  assigned: readonly AssignedTool[],
  chosen: readonly ChosenTool[],
  known: boolean,
): Row[] {
  const names = new Set(tools.map(({ name }) => name));
  const own = assigned.flatMap(({ name, kind, description, server }) =>
    kind === null || names.has(name) ? [] : [{ name, tool: { kind, description, server } }],
  );
  const there = new Set([...names, ...own.map(({ name }) => name)]);
  const missing = known ? chosen.filter(({ name }) => !there.has(name)) : [];
  return [
    ...missing.map(({ name }) => ({ name, tool: null })),
    ...own,
    ...tools.map((tool) => ({ name: tool.name, tool })),
  ];
}

interface Group {
  server: string | null;
  rows: Row[];
}

/** The tools of MCP servers by server, behind the others. */
export function groupsOf(rows: readonly Row[]): Group[] {
  const groups = new Map<string | null, Row[]>([[null, []]]);
  for (const row of rows) {
    const server = row.tool?.server?.name ?? null;
    groups.set(server, [...(groups.get(server) ?? []), row]);
  }
  return [...groups].flatMap(([server, listed]) => (listed.length > 0 ? [{ server, rows: listed }] : []));
}

function fits({ name, tool }: Row, words: string): boolean {
  const text = `${name}\n${tool?.server?.name ?? ""}\n${tool?.description ?? ""}`.toLocaleLowerCase();
  return words
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
