/** A tool of an MCP server: its switch, what a call does, and what of it changed. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { api, data } from "@/api/client";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/field";
import { Switch } from "@/components/ui/switch";
import { useToast } from "@/components/ui/toast";
import { cx } from "@/lib/class-names";
import { APPROVALS, type Approval, EFFECTS, type Effect } from "@/lib/tool-words";
import type { McpToolBody, McpToolShape, McpToolView } from "@/protocol/api";
import { refreshMcpServer } from "./mcp-queries";
import { STATES, shapeOf } from "./mcp-words";
import { ToolChange, ToolSchema } from "./tool-shape";

interface ServerToolProps {
  serverId: string;
  tool: McpToolView;
  mayBuild: boolean;
}

export function ServerTool({ serverId, tool, mayBuild }: ServerToolProps): ReactNode {
  const client = useQueryClient();
  const toast = useToast();
  const params = { path: { server_id: serverId, tool_id: tool.id } };
  const change = useMutation({
    mutationFn: (body: McpToolBody) =>
      data(api.PUT("/api/mcp-servers/{server_id}/tools/{tool_id}", { params, body })),
    onError: (thrown) => toast.failed(thrown),
    onSettled: () => refreshMcpServer(client, serverId),
  });
  const accept = useMutation({
    mutationFn: ({ digest }: McpToolShape) =>
      data(api.POST("/api/mcp-servers/{server_id}/tools/{tool_id}/accept", { params, body: { digest } })),
    onSuccess: () => toast.done(`The change of ${tool.name} was accepted`),
    onError: (thrown) => toast.failed(thrown),
    onSettled: () => refreshMcpServer(client, serverId),
  });
  const { accepted, offered, state, problem } = tool;
  const shape = shapeOf(tool);
  const busy = change.isPending || accept.isPending;
  // The digest of what is shown: an offer that changed meanwhile is not enabled unseen.
  const turn = (enabled: boolean) =>
    change.mutate({ enabled, ...(accepted === null && offered ? { digest: offered.digest } : {}) });
  return (
    <li className="flex flex-col gap-2.5 px-4 py-4 sm:px-5">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="flex min-w-0 flex-1 basis-64 flex-col gap-1.5">
          {mayBuild ? (
            <Switch
              label={tool.name}
              checked={change.isPending ? (change.variables.enabled ?? tool.enabled) : tool.enabled}
              disabled={busy || (accepted === null && (problem !== null || offered === null))}
              onChange={turn}
            />
          ) : (
            <p className="font-medium">{tool.name}</p>
          )}
          <div className="flex flex-wrap gap-1.5">
            <Badge tone={STATES[state].tone}>{STATES[state].title}</Badge>
            {tool.read_only && <Badge>Read-only, says the server</Badge>}
          </div>
        </div>
        {accepted && mayBuild && (
          <div className="flex flex-wrap items-center gap-2">
            <Small
              label={`Effect of ${tool.name}`}
              value={tool.effect}
              words={EFFECTS}
              disabled={busy}
              onChange={(effect: Effect) => change.mutate({ effect })}
            />
            <Small
              label={`Approval for ${tool.name}`}
              value={tool.approval}
              words={APPROVALS}
              disabled={busy}
              onChange={(approval: Approval) => change.mutate({ approval })}
            />
          </div>
        )}
      </div>
      <p className="line-clamp-4 text-[0.8125rem] whitespace-pre-line text-soft wrap-anywhere">
        {shape?.description || "No description."}
      </p>
      {problem && (
        <p className="rounded-xl bg-bad-soft px-3.5 py-2.5 text-[0.8125rem] text-bad wrap-anywhere">
          Cannot be enabled: {problem}
        </p>
      )}
      {state === "changed" && accepted && offered && (
        <div className="flex flex-col gap-3 rounded-xl border border-warn/50 p-3.5">
          <p className="text-[0.8125rem]">
            The server changed this tool. Agents do not have it until someone accepts the change: read what is
            new, also for instructions to the model that do not belong there.
          </p>
          <ToolChange before={accepted} after={offered} />
          {mayBuild && (
            <div>
              <Button
                look="primary"
                size="small"
                busy={accept.isPending}
                disabled={busy || problem !== null}
                onClick={() => accept.mutate(offered)}
              >
                Accept the change
              </Button>
            </div>
          )}
        </div>
      )}
      {shape && state !== "changed" && <More tool={tool} shape={shape} mayTry={mayBuild && tool.enabled} />}
    </li>
  );
}

/** The name towards models, the schema, and the way to the console. */
function More({
  tool,
  shape,
  mayTry,
}: {
  tool: McpToolView;
  shape: McpToolShape;
  mayTry: boolean;
}): ReactNode {
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5 text-[0.8125rem]">
        <button
          type="button"
          aria-expanded={open}
          aria-controls={id}
          aria-label={`Schema of ${tool.name}`}
          onClick={() => setOpen(!open)}
          className="-ml-1 inline-flex min-h-6 items-center gap-1 rounded-md px-1 text-soft hover:text-ink"
        >
          <ChevronRight className={cx("size-3.5 transition-transform", open && "rotate-90")} aria-hidden />
          Schema
        </button>
        {mayTry && (
          <Link
            to="/tools/$toolId"
            params={{ toolId: tool.id }}
            aria-label={`Try ${tool.name}`}
            className="inline-flex min-h-6 items-center text-accent-text underline underline-offset-2"
          >
            Try it
          </Link>
        )}
        {tool.tool && (
          <span className="min-w-0 text-soft">
            Models call it <code className="font-mono text-xs wrap-anywhere">{tool.tool}</code>
          </span>
        )}
      </div>
      <div id={id} hidden={!open}>
        {open && <ToolSchema shape={shape} />}
      </div>
    </>
  );
}

interface SmallProps<T extends string> {
  label: string;
  value: T;
  words: Record<T, { title: string; meaning: string }>;
  disabled: boolean;
  onChange: (value: T) => void;
}

function Small<T extends string>({ label, value, words, disabled, onChange }: SmallProps<T>): ReactNode {
  return (
    <Select
      aria-label={label}
      title={words[value].meaning}
      className="h-8 w-auto! py-0 text-[0.8125rem]"
      value={value}
      disabled={disabled}
      onChange={({ target }) => onChange(target.value as T)}
    >
      {(Object.keys(words) as T[]).map((each) => (
        <option key={each} value={each}>
          {words[each].title}
        </option>
      ))}
    </Select>
  );
}
