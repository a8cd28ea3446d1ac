/** One tool that can be given to an agent, and how it asks. */
import { type ReactNode, useId } from "react";
import { Badge } from "@/components/ui/badge";
import { Select } from "@/components/ui/field";
import { EFFECTS, KINDS } from "@/lib/tool-words";
import type { AgentToolDetails } from "@/protocol/api";
import type { ChosenTool, ToolApproval } from "./agent-values";

/** Of a tool that only this agent can have, the rest is not known. */
export type ShownTool = Pick<AgentToolDetails, "kind" | "description"> & Partial<AgentToolDetails>;

interface ToolRowProps {
  name: string;
  /** Null: it is not there now. */
  tool: ShownTool | null;
  chosen: ChosenTool | null;
  /** The agent asks before every call, regardless of its tools' settings. */
  asksAlways: boolean;
  onChange: (choice: ChosenTool | null) => void;
}

export function ToolRow({ name, tool, chosen, asksAlways, onChange }: ToolRowProps): ReactNode {
  const id = useId();
  return (
    <li className="flex flex-col gap-2 px-3.5 py-3 sm:flex-row sm:items-start">
      <div className="flex min-w-0 flex-1 items-start gap-3">
        <input
          id={id}
          type="checkbox"
          className="mt-1 size-4 shrink-0 accent-accent"
          checked={chosen !== null}
          aria-describedby={`${id}-about`}
          onChange={(event) => onChange(event.target.checked ? { name, approval: "tool" } : null)}
        />
        <div className="min-w-0">
          <label htmlFor={id} className="font-mono text-[0.8125rem] font-medium wrap-anywhere">
            {name}
          </label>
          <div id={`${id}-about`}>
            <p className="text-[0.8125rem] text-soft wrap-anywhere">
              {tool
                ? tool.description
                : "This tool is unavailable. To save the agent, remove the tool or start the worker that provides it."}
            </p>
            <div className="mt-1.5 flex flex-wrap gap-1.5">
              {tool ? (
                <>
                  {!tool.server && <Badge>{KINDS[tool.kind].one}</Badge>}
                  {tool.effect && <Badge>{EFFECTS[tool.effect].title}</Badge>}
                  {tool.server?.on === false && <Badge tone="bad">Not available now</Badge>}
                  {tool.approval === "ask" && <Badge tone="warn">Asks first</Badge>}
                </>
              ) : (
                <Badge tone="bad">Missing</Badge>
              )}
            </div>
          </div>
        </div>
      </div>
      {chosen && tool && (
        <Select
          aria-label={`Approval for ${name}`}
          className="w-auto! shrink-0 max-sm:ml-7"
          disabled={asksAlways}
          value={asksAlways ? "ask" : chosen.approval}
          onChange={(event) => onChange({ name, approval: event.target.value as ToolApproval })}
        >
          <option value="tool">Tool's default</option>
          <option value="ask">Always ask</option>
          <option value="never">Never ask</option>
        </Select>
      )}
    </li>
  );
}
