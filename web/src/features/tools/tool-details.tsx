/** A tool that cannot be changed here: what it is, and what it takes. */

import type { ReactNode } from "react";
import { CopyButton } from "@/components/ui/copy-button";
import { Card } from "@/components/ui/page";
import { Tabs } from "@/components/ui/tabs";
import { writeJson } from "@/lib/json";
import { APPROVALS, EFFECTS } from "@/lib/tool-words";
import type { AgentToolDetails } from "@/protocol/api";
import { rowsOf, TYPES } from "./parameter-table";

export function ToolDetails({ tool }: { tool: AgentToolDetails }): ReactNode {
  const { method, url, headers, result_path, timeout_s } = tool;
  return (
    <div className="flex min-w-0 flex-col gap-5">
      <Card title="Basics">
        <p className="mb-4 text-sm whitespace-pre-wrap wrap-anywhere">
          {tool.description || "No description."}
        </p>
        <dl className="grid gap-x-6 gap-y-3 text-sm sm:grid-cols-[auto_minmax(0,1fr)]">
          {method && url && (
            <Entry term="Request">
              <code className="font-mono text-[0.8125rem] wrap-anywhere">
                {method} {url}
              </code>
            </Entry>
          )}
          {headers && headers.length > 0 && (
            <Entry term="Headers">
              {headers.map(({ name, value, secret }) => (
                <code key={name} className="block font-mono text-[0.8125rem] wrap-anywhere">
                  {name}: {secret ? "(secret)" : value}
                </code>
              ))}
            </Entry>
          )}
          {result_path && (
            <Entry term="Result path">
              <code className="font-mono text-[0.8125rem]">{result_path}</code>
            </Entry>
          )}
          <Entry term={EFFECTS[tool.effect].title}>{EFFECTS[tool.effect].meaning}</Entry>
          <Entry term={APPROVALS[tool.approval].title}>{APPROVALS[tool.approval].meaning}</Entry>
          {timeout_s !== null && <Entry term="Timeout">{timeout_s} s</Entry>}
        </dl>
      </Card>
      <Card title="Parameters">
        <Tabs
          label="Parameters"
          tabs={[
            { id: "table", title: "Table", content: <ParameterTable tool={tool} /> },
            { id: "json", title: "JSON", content: <SchemaText text={writeJson(tool.parameters)} /> },
          ]}
        />
      </Card>
    </div>
  );
}

function Entry({ term, children }: { term: string; children: ReactNode }): ReactNode {
  return (
    <>
      <dt className="font-medium">{term}</dt>
      <dd className="-mt-2.5 min-w-0 text-soft sm:mt-0">{children}</dd>
    </>
  );
}

function ParameterTable({ tool }: { tool: AgentToolDetails }): ReactNode {
  const rows = rowsOf(tool.parameters);
  if (rows.length === 0) return <p className="text-sm text-soft">No arguments.</p>;
  return (
    <ul className="divide-y divide-line">
      {rows.map((row) => (
        <li key={row.name} className="py-2.5 first:pt-0 last:pb-0">
          <p className="flex flex-wrap items-baseline gap-x-2.5 text-sm">
            <code className="font-mono text-[0.8125rem] font-medium wrap-anywhere">{row.name}</code>
            <span className="text-[0.8125rem] text-soft">
              {TYPES[row.type]}
              {row.required ? "" : ", optional"}
              {"default" in row.rest ? `, default ${JSON.stringify(row.rest.default)}` : ""}
            </span>
          </p>
          {row.description && <p className="mt-0.5 text-[0.8125rem] text-soft">{row.description}</p>}
          {row.choices && <p className="mt-0.5 text-[0.8125rem] text-soft">One of: {row.choices}</p>}
        </li>
      ))}
    </ul>
  );
}

function SchemaText({ text }: { text: string }): ReactNode {
  return (
    <div className="relative">
      <div className="absolute top-1 right-1">
        <CopyButton text={text} label="Copy schema" />
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard too
        tabIndex={0}
        className="max-h-96 overflow-auto rounded-xl bg-panel px-3.5 py-3 font-mono text-xs"
      >
        {text}
      </pre>
    </div>
  );
}
